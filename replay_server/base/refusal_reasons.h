#pragma once

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "common/base/reason.h"

// The reasons for a replay server's refusals, as in docs/errors.md. Names must not change: metrics have them.

namespace waggle::reasons {

inline constexpr absl::string_view kUnexpectedMessage = "unexpected_message";
inline constexpr absl::string_view kBadRequest = "bad_request";
inline constexpr absl::string_view kBadName = "bad_name";
inline constexpr absl::string_view kUnknownTable = "unknown_table";
inline constexpr absl::string_view kUnknownItem = "unknown_item";
inline constexpr absl::string_view kBadConfiguration = "bad_configuration";
inline constexpr absl::string_view kOtherConfiguration = "other_configuration";
inline constexpr absl::string_view kConfigGeneration = "config_generation";
inline constexpr absl::string_view kNoDataFolder = "no_data_folder";
inline constexpr absl::string_view kTooManyTables = "too_many_tables";
inline constexpr absl::string_view kTooManyWriters = "too_many_writers";
inline constexpr absl::string_view kTableTooLarge = "table_too_large";
inline constexpr absl::string_view kExperimentTooLarge = "experiment_too_large";
inline constexpr absl::string_view kWrongColumns = "wrong_columns";
inline constexpr absl::string_view kOtherWriter = "other_writer";
inline constexpr absl::string_view kBadSequence = "bad_sequence";
inline constexpr absl::string_view kBadChunk = "bad_chunk";
inline constexpr absl::string_view kBadWindow = "bad_window";
inline constexpr absl::string_view kBadPriority = "bad_priority";
inline constexpr absl::string_view kNotFinite = "not_finite";
inline constexpr absl::string_view kDamagedRows = "damaged_rows";
inline constexpr absl::string_view kBlockTooLarge = "block_too_large";
inline constexpr absl::string_view kItemTooLarge = "item_too_large";
inline constexpr absl::string_view kWriterTooLarge = "writer_too_large";
inline constexpr absl::string_view kWritersTooLarge = "writers_too_large";
inline constexpr absl::string_view kTooManyWaiting = "too_many_waiting";
inline constexpr absl::string_view kBatchTooLarge = "batch_too_large";
inline constexpr absl::string_view kImpossibleBatch = "impossible_batch";
inline constexpr absl::string_view kBadDraw = "bad_draw";
inline constexpr absl::string_view kTooManyCredits = "too_many_credits";
inline constexpr absl::string_view kNotReading = "not_reading";
inline constexpr absl::string_view kDisk = "disk";
inline constexpr absl::string_view kTooBusy = "too_busy";
inline constexpr absl::string_view kStopping = "stopping";

inline constexpr absl::string_view kAll[] = {
    kMalformedMessage,
    kMessageTooLarge,
    kUnexpectedMessage,
    kBadRequest,
    kBadName,
    kUnknownTable,
    kUnknownItem,
    kBadConfiguration,
    kOtherConfiguration,
    kConfigGeneration,
    kNoDataFolder,
    kTooManyTables,
    kTooManyWriters,
    kTableTooLarge,
    kExperimentTooLarge,
    kWrongColumns,
    kOtherWriter,
    kBadSequence,
    kBadChunk,
    kBadWindow,
    kBadPriority,
    kNotFinite,
    kDamagedRows,
    kBlockTooLarge,
    kItemTooLarge,
    kWriterTooLarge,
    kWritersTooLarge,
    kTooManyWaiting,
    kBatchTooLarge,
    kImpossibleBatch,
    kBadDraw,
    kTooManyCredits,
    kNotReading,
    kDisk,
    kTooBusy,
    kStopping,
};

}  // namespace waggle::reasons

namespace waggle {

// An error with its reason. The parts are arguments of absl::StrCat.
template <class... Parts>
absl::Status Refusal(absl::StatusCode code, absl::string_view reason, const Parts&... parts) {
  return WithReason(reason, absl::Status(code, absl::StrCat(parts...)));
}

}  // namespace waggle
