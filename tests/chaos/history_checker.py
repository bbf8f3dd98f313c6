"""Checks the history of a chaos run against Waggle's promises. Pure: lists and dictionaries in, sentences out.

The history is a list of events, which are dictionaries. `t` is monotonic seconds.

  {"op": "insert", "type": "invoke" | "ok" | "fail" | "unknown", "t", "server", "table", "numbers": [...]}
      fail: the items were refused, or were never sent. unknown: there is no answer, and there may be one later.
  {"op": "delete", "type": ..., "t", "server", "table", "numbers": [...]}
  {"op": "read", "t", "server", "table", "number", "right"}: a sampled item; `right` is false if its rows are wrong.
  {"op": "refused", "t", "server", "table", "error"}: a client that works as it should was refused.
  {"op": "lossy", "t", "server", "levels": [...]}: the server's disk was damaged, or lost what it had not synced. Tables of
      these levels may have gone back to an earlier state.
"""

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import Optional

MOST_NAMED = 5  # Items that a sentence names.
WRITTEN = 12.0  # Seconds after which the hub has written its counts; it does so every five.


@dataclass(frozen=True)
class TableRule:
    """What a table promises."""

    level: str = "log"  # "none": a crash empties it. "log": nothing acknowledged is lost. "sync": nor by a power cut.
    max_items: Optional[int] = None  # Beyond these the oldest items leave.


@dataclass
class _Item:
    invoked: float
    acknowledged: Optional[float] = None
    failed: bool = False
    delete_invoked: Optional[float] = None
    deleted: Optional[float] = None


def _named(numbers):
    numbers = sorted(numbers)
    more = f" and {len(numbers) - MOST_NAMED} more" if len(numbers) > MOST_NAMED else ""
    return ", ".join(map(str, numbers[:MOST_NAMED])) + more


class _Table:
    """What is known of the items of one table of one server."""

    def __init__(self):
        self.items = {}
        self.wrong_reads = []
        self.refusals = []
        self.strange_reads = set()

    def take(self, event):
        kind, t = event.get("type"), event["t"]
        if event["op"] == "refused":
            self.refusals.append(event["error"])
        elif event["op"] == "read":
            if not event["right"]:
                self.wrong_reads.append(event["number"])
            elif event["number"] not in self.items:
                self.strange_reads.add(event["number"])
        elif event["op"] == "insert":
            for number in event["numbers"]:
                if kind == "invoke":
                    self.items[number] = _Item(t)
                elif kind == "ok":
                    self.items[number].acknowledged = t
                elif kind == "fail":
                    self.items[number].failed = True
        elif event["op"] == "delete":
            for number in event["numbers"]:
                if kind == "invoke" and self.items[number].delete_invoked is None:
                    self.items[number].delete_invoked = t
                elif kind == "ok":
                    self.items[number].deleted = t

    def may_be_evicted(self, rule):
        """The items before which enough others may have come to push them out, oldest first."""
        if rule.max_items is None:
            return set()
        possible = [item for item in self.items.values() if not item.failed]
        ends = sorted(item.acknowledged if item.acknowledged is not None else float("inf") for item in possible)
        found = set()
        position = 0
        for number, item in sorted(self.items.items(), key=lambda pair: pair[1].invoked):
            while position < len(ends) and ends[position] < item.invoked:
                position += 1
            if len(ends) - position - 1 >= rule.max_items:  # Without itself.
                found.add(number)
        return found


def item_problems(history, contents, rules):
    """Problems of the items.

    contents: for each (server, table) the pairs of an item's number and True if its rows are right, at the end.
    rules: the TableRule of each table's name.
    """
    tables = defaultdict(_Table)
    lossy = defaultdict(list)
    for event in history:
        if event["op"] == "lossy":
            for level in event["levels"]:
                lossy[event["server"], level].append(event["t"])
        elif "table" in event:
            tables[event["server"], event["table"]].take(event)
    problems = []
    for key in sorted(set(tables) | set(contents)):
        rule = rules[key[1]]
        last_loss = max(lossy[key[0], rule.level], default=None)
        problems += [f"{key[0]}/{key[1]}: {text}"
                     for text in _table_problems(tables[key], contents.get(key, []), rule, last_loss)]
    return problems


def _table_problems(table, content, rule, last_loss):
    there = Counter(number for number, _ in content)
    evicted = table.may_be_evicted(rule)

    def lost_by_damage(t):
        return last_loss is not None and t is not None and t <= last_loss

    def group(what, numbers):
        numbers = list(numbers)
        return [f"{len(numbers)} {what}: {_named(numbers)}"] if numbers else []

    items = table.items.items()
    yield from group("acknowledged items are lost", (
        n for n, item in items
        if item.acknowledged is not None and not there[n] and item.delete_invoked is None and n not in evicted
        and not lost_by_damage(item.acknowledged)))
    yield from group("items are there more than once", (n for n, count in there.items() if count > 1))
    yield from group("items are there that no client has written", (n for n in there if n not in table.items))
    yield from group("items are there that were refused", (n for n, item in items if item.failed and there[n]))
    yield from group("items are there though their deletion was answered", (
        n for n, item in items if item.deleted is not None and there[n] and not lost_by_damage(item.deleted)))
    yield from group("items have wrong rows", (n for n, right in content if not right))
    yield from group("sampled items had wrong rows", table.wrong_reads)
    yield from group("sampled items were written by no client", table.strange_reads)
    if rule.max_items is not None and len(content) > rule.max_items:
        yield f"has {len(content)} items; wanted at most {rule.max_items}"
    if last_loss is None:
        for error in sorted(set(table.refusals)):
            yield f"a client that works as it should was refused: {error}"


def acknowledged_items(history):
    return sum(len(event["numbers"]) for event in history if event["op"] == "insert" and event["type"] == "ok")


COUNTS = ("env_steps", "learner_steps")
OVER = ("solved", "limit", "failed", "stopped")
_ORDER = {"queued": 0, "running": 1, "finishing": 2, **dict.fromkeys(OVER, 3)}


def poll_problems(polls, hub_deaths, unsaved=()):
    """Problems of the polls of an experiment, oldest first.

    polls: dictionaries with t, life (the number of hubs that had ended before), state, env_steps, learner_steps, epoch and
        version of the newest weights (0 if there are none), and the newest cut: None, or its number, env_steps and
        learner_steps.
    hub_deaths: the times at which hubs ended, in order.
    unsaved: pairs of the times from which and until which the hub's disk refused its files.
    """
    problems = []
    floors = {}  # What a value may not be less than, by name.
    cut = {}  # The values of the newest cut, which stay when the hub dies.
    written = {}  # The values that hubs must have written before they died.
    life = 0
    for poll in polls:
        values = _values(poll)
        if poll["life"] != life:
            for died in range(life, poll["life"]):
                shown = [each for each in polls if each["life"] == died]
                written = _larger(written, _written(shown, hub_deaths[died], unsaved))
            life = poll["life"]
            floors = _larger(written, cut)
        for name, value in values.items():
            if name in floors and value < floors[name]:
                problems.append(f"{name} went back from {_text(floors[name])} to {_text(value)} at {poll['t']:.1f} s")
        floors = _larger(values, floors)
        if poll["cut"] is not None:
            cut = {"cuts": poll["cut"]["number"], **{name: poll["cut"][name] for name in COUNTS}}
    for before, after in zip(polls, polls[1:]):
        if before["state"] in OVER and after["state"] != before["state"] and before["life"] == after["life"]:
            problems.append(f"was {before['state']} and became {after['state']}")
    for poll in polls:
        if poll["state"] not in _ORDER:
            problems.append(f"got the state {poll['state']}; wanted one of {', '.join(_ORDER)}")
    return problems


def _values(poll):
    return {
        "cuts": poll["cut"]["number"] if poll["cut"] is not None else 0,
        "env_steps": poll["env_steps"],
        "learner_steps": poll["learner_steps"],
        "the learner's epoch": poll["epoch"],
        # A later epoch may begin at an earlier step.
        "the weights' version": (poll["epoch"], poll["version"]),
        # It never goes from running back to queued, nor from its end back to its run, also under the next hub.
        "the state": _ORDER.get(poll["state"], 0),
    }


def _text(value):
    return f"{value[0]}.{value[1]}" if isinstance(value, tuple) else str(value)


def _larger(some, others):
    """The larger value of each name that either has."""
    return {name: max(each[name] for each in (some, others) if name in each) for name in {**some, **others}}


def _written(polls, death, unsaved):
    """The values that a hub with these polls must have written before it died."""
    end = death - WRITTEN
    for since, until in unsaved:
        if since <= death and until >= end:  # Nothing was written meanwhile.
            end = min(end, since - WRITTEN)
    written = {}
    for poll in polls:
        if poll["t"] <= end:
            written = _larger(written, _values(poll))
    return written


def gradient_problems(gradients):
    """Problems of the section "gradients" of an experiment that has ended."""
    if gradients is None:
        return ["has no gradients; wanted some"]
    parts = gradients["applied"] + gradients["refused"] + gradients["unanswered"]
    problems = []
    if gradients["pushed"] != parts:
        problems.append(f"pushed {gradients['pushed']} gradients; applied, refused and unanswered ones are {parts}")
    if gradients["refused"] != sum(gradients["refused_by_reason"].values()):
        problems.append(f"refused {gradients['refused']} gradients; by reason these are {gradients['refused_by_reason']}")
    for name in ("applied", "refused", "unanswered", "rolled_back"):
        if gradients[name] < 0:
            problems.append(f"{name} gradients: got {gradients[name]}; wanted at least 0")
    return problems
