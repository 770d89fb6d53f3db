import { parse } from "smol-toml";
import { isTable } from "../config/decode.ts";
import { providersOf } from "../migrate/codex-provider.ts";
import { tomlInlineTable, tomlString } from "../migrate/toml-text.ts";

export interface CodexArguments {
  /** The gateway's, with `/v1`. */
  readonly baseUrl: string;
  /** What Codex asks for when the user does not say; undefined leaves it to Codex's own configuration. */
  readonly model: string | undefined;
  /** The user's providers with `wire_api = "chat"`, for which Codex would not start. */
  readonly chatProviders: readonly string[];
  /** The user's own, as typed. */
  readonly args: readonly string[];
}

/** The environment variable in which Codex finds the gateway's token: arguments can be seen by everybody. */
export const tokenVariable = "DELTAWIRE_TOKEN";

/**
 * All that makes Codex use the gateway, in front of what the user typed. Codex 0.166 takes `-c` there with every
 * subcommand; of two the later wins, and `-m` wins over both, so that the user's words need not be understood here.
 */
export function codexArguments({ baseUrl, model, chatProviders, args }: CodexArguments): string[] {
  const provider = tomlInlineTable([
    ["name", "Deltawire"],
    ["base_url", baseUrl],
    ["wire_api", "responses"],
    ["env_key", tokenVariable],
    ["model_catalog_url", catalogueUrl(baseUrl, modelIn(args) ?? model)],
  ]);
  const settings = [
    ...(model === undefined ? [] : [`model=${tomlString(model)}`]),
    'model_provider="deltawire"',
    `model_providers.deltawire=${provider}`,
    ...chatProviders.map((id) => `model_providers.${id}.wire_api="responses"`),
  ];
  return [...settings.flatMap((setting) => ["-c", setting]), ...args];
}

/** With the model that is about to be used, for one that no upstream lists is not in the catalogue otherwise. */
function catalogueUrl(baseUrl: string, model: string | undefined): string {
  return `${baseUrl}/models${model === undefined ? "" : `?model=${encodeURIComponent(model)}`}`;
}

/** The model that the user names, in any of the ways in which Codex takes it. */
export function modelIn(args: readonly string[]): string | undefined {
  for (const [at, word] of args.entries()) {
    if (word === "--") return undefined;
    if (word === "-m" || word === "--model") return args[at + 1];
    const joined = /^(?:--model=|-m=?)(.+)$/.exec(word);
    if (joined !== null) return joined[1];
  }
  return undefined;
}

/** Those that a word on the command line can reach: Codex cuts the path at every dot, quoted or not. */
export function chatProvidersIn(codexConfig: string): string[] {
  try {
    const config = parse(codexConfig, { integersAsBigInt: "asNeeded" });
    if (!isTable(config)) return [];
    return providersOf(config)
      .filter(([id, table]) => table["wire_api"] === "chat" && /^[^.=]+$/.test(id))
      .map(([id]) => id);
  } catch {
    return []; // Codex says better what is wrong with it
  }
}
