"""Tables as messages."""

import dataclasses
from typing import Mapping, Tuple

from google.protobuf.descriptor import FieldDescriptor

from waggle_client import _check, _wire
from waggle_client.errors import InvalidArgument
from waggle_client.table import Column, Field, RateLimiter, Selector, Table

TableConfig = _wire.message("TableConfig")
_DTYPES = _wire.enum_names(_wire.message("ArraySpec").DESCRIPTOR.fields_by_name["dtype"].enum_type)
_DTYPE_NAMES = {number: name for name, number in _DTYPES.items()}
_WANTED = {  # Other fields are integers.
    FieldDescriptor.CPPTYPE_BOOL: "True or False",
    FieldDescriptor.CPPTYPE_DOUBLE: "a number",
    FieldDescriptor.CPPTYPE_STRING: "a string",
}
_ROWS = _wire.enum_names(_wire.message("ViewField").DESCRIPTOR.fields_by_name["rows"].enum_type)
_ROWS_NAMES = {number: name for name, number in _ROWS.items()}


def _set(message, where, **values):
    """Sets fields of a message; errors name them with the prefix `where`."""
    for name, value in values.items():
        if name not in message.DESCRIPTOR.fields_by_name:
            raise InvalidArgument(f"{where}there is no option {name}")
        try:
            setattr(message, name, value.item() if hasattr(value, "item") else value)
        except (TypeError, ValueError):
            wanted = _WANTED.get(message.DESCRIPTOR.fields_by_name[name].cpp_type, "an integer")
            raise _check.wrong_value(where + name, value, wanted) from None


def _set_enum(message, field, where, name):
    names = _wire.enum_names(message.DESCRIPTOR.fields_by_name[field].enum_type)
    if name not in names:
        raise InvalidArgument(f"{where}: got {name!r}; wanted one of {', '.join(names)}")
    setattr(message, field, names[name])


def _enum_name(message, field):
    names = _wire.enum_names(message.DESCRIPTOR.fields_by_name[field].enum_type)
    return next((name for name, number in names.items() if number == getattr(message, field)), "unknown")


def specs_to_proto(columns: Mapping[str, Column], specs) -> None:
    """Adds the columns to a repeated field of ArraySpec."""
    for name, column in columns.items():
        spec = specs.add()
        _set(spec, "columns: ", name=name, dtype=_DTYPES[column.dtype])
        spec.shape.extend(column.shape)


def spec_from_proto(spec) -> Tuple[str, Column]:
    return spec.name, Column(_DTYPE_NAMES.get(spec.dtype, f"unknown ({spec.dtype})"), tuple(spec.shape))


def _selector_to_proto(selector, where, proto):
    _set_enum(proto, "kind", where, selector.kind)
    _set(proto, f"{where}: ", **selector.options)


def _selector_from_proto(proto):
    options = {field.name: value for field, value in proto.ListFields() if field.name != "kind"}
    return Selector(_enum_name(proto, "kind"), options)


def to_proto(table: Table):
    """InvalidArgument names a field that does not fit in a message; the server checks the rest."""
    proto = TableConfig()
    where = f'table "{table.name}": '
    _set(proto, where, name=table.name, seed=table.seed)
    for name in ("max_items", "max_bytes", "max_times_sampled", "max_window", "transition_rows", "memory_limit"):
        _set(proto, where, **{name: getattr(table, name)})
    _set(proto, where, log_sync=table.log_sync)
    specs_to_proto(table.columns, proto.signature)
    for name, field in table.view.items():
        added = proto.view.add()
        _set(added, f"{where}view: ", name=name, column=field.column)
        _set_enum(added, "rows", f"{where}view: {name}", field.rows)
        if field.stack != 1:
            _set(added, f"{where}view: ", stack=field.stack)
    _selector_to_proto(table.sampler, f"{where}sampler", proto.sampler)
    _selector_to_proto(table.remover, f"{where}remover", proto.remover)
    limiter = {name: value for name, value in dataclasses.asdict(table.rate_limiter).items() if value is not None}
    _set(proto.rate_limiter, f"{where}rate_limiter: ", **limiter)
    for column, codec in table.compression.items():
        added = proto.compression.add()
        _set(added, f"{where}compression: ", column=column)
        _set_enum(added, "codec", f"{where}compression: {column}", codec)
    if table.durability != "none":
        _set_enum(proto, "durability", f"{where}durability", table.durability)
    if table.future_row != "later":
        _set_enum(proto, "future_row", f"{where}future_row", table.future_row)
    return proto


def from_proto(proto) -> Table:
    limiter = proto.rate_limiter
    return Table(
        name=proto.name,
        columns=dict(spec_from_proto(spec) for spec in proto.signature),
        view={
            field.name: Field(field.column, _ROWS_NAMES.get(field.rows, "unknown"), max(1, field.stack))
            for field in proto.view
        },
        sampler=_selector_from_proto(proto.sampler),
        remover=_selector_from_proto(proto.remover),
        max_items=proto.max_items,
        max_bytes=proto.max_bytes,
        max_window=proto.max_window,
        transition_rows=proto.transition_rows,
        future_row=_enum_name(proto, "future_row") if proto.future_row else "later",
        max_times_sampled=proto.max_times_sampled,
        rate_limiter=RateLimiter(
            limiter.min_items,
            limiter.samples_per_insert,
            limiter.error_buffer,
            limiter.min_difference if limiter.HasField("min_difference") else None,
            limiter.max_difference if limiter.HasField("max_difference") else None,
        ),
        seed=proto.seed,
        compression={entry.column: _enum_name(entry, "codec") for entry in proto.compression},
        durability=_enum_name(proto, "durability"),
        log_sync=proto.log_sync,
        memory_limit=proto.memory_limit,
    )
