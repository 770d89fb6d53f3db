import { didYouMean } from "@deltawire/tasks";
import { findModelArgument } from "../codex/build-arguments.ts";
import { runCodex } from "../codex/run-codex.ts";
import type { LoadedConfig } from "../config/load-config.ts";
import type { ModelList } from "../models/model-list.ts";
import type { Terminal } from "../terminal.ts";
import type { CliFlags } from "./parse-arguments.ts";
import { withGateway } from "./reachable-gateway.ts";

/** Runs Codex against the running gateway, or against one that is started for as long as Codex runs. */
export async function runCodexCommand(
  loaded: LoadedConfig,
  { args, flags }: { args: readonly string[]; flags: CliFlags },
  terminal: Terminal,
): Promise<number> {
  return withGateway(loaded, flags, terminal, async ({ url, token, listModels }) => {
    const list = await listModels();
    warnIfModelMisspelled(args, list, terminal);
    return runCodex({ args, gateway: { url, token, model: list.data[0]?.id }, terminal });
  });
}

/** Warns about an unlisted model whose name is similar to a listed one. Not an error: unlisted models may work. */
function warnIfModelMisspelled(
  args: readonly string[],
  { data }: ModelList,
  { stderr }: Terminal,
): void {
  const name = findModelArgument(args);
  const names = data.map(({ id }) => id);
  if (name === undefined || names.includes(name)) return;
  const suggestion = didYouMean(name, names);
  if (suggestion !== "")
    stderr.write(`warning: no upstream lists the model "${name}"${suggestion}\n`);
}
