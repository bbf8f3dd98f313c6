#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/command_line_parts.h"

namespace waggle {
namespace {

constexpr char kRunWord[] =
    "A run's folder. If no path has this name: the id of an experiment or of a group. Runs that differ only in their "
    "seed are one setting";

Command ParseFetch(CLI::App* app, int argc, const char* const* argv) {
  FetchFlags flags;
  SetRequired(AddWord(app, "ID", &flags.id, "The id of an experiment or a group, or its beginning"), true);
  AddWord(app, "DIR", &flags.folder,
          "The folder to make; by default ID in the working folder. A folder with earlier files of the same "
          "experiment is replaced");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddParamServerFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParsePlot(CLI::App* app, int argc, const char* const* argv) {
  PlotFlags flags;
  SetRequired(AddWords(app, "RUN", &flags.runs, kRunWord), true);
  AddPathFlag(app, "--out", &flags.out, "FILE",
              "The picture to write; by default RUN/curves.png for one run's folder and curves.png otherwise");
  AddSwitch(app, "--returns", &flags.returns_only, "Draw only the returns");
  AddHubFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseCompare(CLI::App* app, int argc, const char* const* argv) {
  CompareFlags flags;
  SetRequired(AddWords(app, "RUN", &flags.runs, kRunWord), true);
  AddChoiceFlag(app, "--by", &flags.by, {{"result", std::string("result")}, {"area", std::string("area")}},
                "The score by which settings are sorted: the mean return of a run's best weights (the default), or the "
                "mean return of all its evaluations, which is high if a run learns fast");
  AddSwitch(app, "--json", &flags.json, "Print JSON");
  AddHubFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

Command ParseCard(CLI::App* app, int argc, const char* const* argv) {
  CardFlags flags;
  SetRequired(AddWord(app, "RUN", &flags.run, "The folder of a run that has ended, or the id of an experiment"), true);
  AddPathFlag(
      app, "--out", &flags.folder, "DIR",
      "The folder to make; by default RUN/card for a folder and ID-card for an id. An earlier card is replaced");
  AddSwitch(app, "--video", &flags.video, "Film an episode for the card");
  AddHubFlag(app, &flags.param_server);
  if (const std::optional<PrintAndExit> instead = ParseFlags(app, argc, argv)) {
    return *instead;
  }
  return flags;
}

}  // namespace

std::vector<Verb> ResultVerbs() {
  return {
      {"fetch",
       "Copies the files of an experiment, or of each member of a group, from its parameter server to a folder here: "
       "summary.json, experiment.yaml, metrics.csv, curves.png, TensorBoard's event files, the best weights, and the "
       "events. Those of a running experiment are copied as they are. Exits with 0, 1 if the parameter server does not "
       "answer, 2 if there is no such experiment, it has no files, the folder has other content, or a flag is wrong, "
       "130 if interrupted.",
       &ParseFetch},
      {"plot",
       "Draws the curves of runs as a PNG: returns, rates and policy lag. Runs that differ only in their seed become "
       "one curve, their mean, in a band of one standard deviation. The legend has the values in which curves differ. "
       "Needs a python3 with matplotlib. Exits with 0, 2 if a flag or a folder is wrong, 3 if there is no matplotlib, "
       "1 if it failed otherwise.",
       &ParsePlot},
      {"compare",
       "Compares settings. Runs that differ only in their seed are one setting. Prints two scores of each setting, the "
       "best setting first: the interquartile mean of its results, and that of the areas under its curves, with "
       "bootstrap intervals. Marks the settings that cannot be told apart from the best. Needs a python3 with numpy. "
       "Exits with 0, 2 if a flag or a folder is wrong, 3 if there is no numpy, 1 if it failed otherwise.",
       &ParseCompare},
      {"card",
       "Makes a folder with a model card, README.md, and the files that it refers to: the best weights, the "
       "experiment's file, the curves, and a film if --video asks for one. The folder can be uploaded to a hub of "
       "models. Exits with 0, 1 if it failed, 2 if a flag is wrong or RUN is no run with a result, 130 if interrupted.",
       &ParseCard},
  };
}

}  // namespace waggle
