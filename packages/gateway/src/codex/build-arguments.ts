import { parse } from "smol-toml";
import { isTomlTable } from "../config/decode-section.ts";
import { listProviders } from "../migrate/codex-provider.ts";
import { formatTomlInlineTable, formatTomlString } from "../migrate/format-toml.ts";

export interface CodexArgumentsInput {
  /** The gateway's base URL, with `/v1`. */
  readonly baseUrl: string;
  /** Model to use unless the user names one. Undefined: Codex's configuration decides. */
  readonly model: string | undefined;
  /** The user's providers with `wire_api = "chat"`, which prevent Codex from starting. */
  readonly chatProviders: readonly string[];
  /** The arguments that the user typed. */
  readonly userArguments: readonly string[];
}

/** The environment variable that passes the gateway's token to Codex. Arguments would be visible to other users. */
export const tokenVariable = "DELTAWIRE_TOKEN";

/**
 * Returns the user's arguments, preceded by those that make Codex use the gateway. Codex 0.166 accepts `-c` there with
 * every subcommand. A later `-c` overrides an earlier one and `-m` overrides both, so the user's arguments take precedence.
 */
export function buildCodexArguments({
  baseUrl,
  model,
  chatProviders,
  userArguments,
}: CodexArgumentsInput): string[] {
  const provider = formatTomlInlineTable([
    ["name", "Deltawire"],
    ["base_url", baseUrl],
    ["wire_api", "responses"],
    ["env_key", tokenVariable],
    ["model_catalog_url", buildCatalogUrl(baseUrl, findModelArgument(userArguments) ?? model)],
  ]);
  const settings = [
    ...(model === undefined ? [] : [`model=${formatTomlString(model)}`]),
    'model_provider="deltawire"',
    `model_providers.deltawire=${provider}`,
    ...chatProviders.map((id) => `model_providers.${id}.wire_api="responses"`),
  ];
  return [...settings.flatMap((setting) => ["-c", setting]), ...userArguments];
}

/** The query adds the model to the catalog, which would not contain it if no upstream lists it. */
function buildCatalogUrl(baseUrl: string, model: string | undefined): string {
  return `${baseUrl}/models${model === undefined ? "" : `?model=${encodeURIComponent(model)}`}`;
}

/** Returns the value of `-m` or `--model`, in any form that Codex accepts. */
export function findModelArgument(args: readonly string[]): string | undefined {
  for (const [index, argument] of args.entries()) {
    if (argument === "--") return undefined;
    if (argument === "-m" || argument === "--model") return args[index + 1];
    const joined = /^(?:--model=|-m=?)(.+)$/.exec(argument);
    if (joined !== null) return joined[1];
  }
  return undefined;
}

/**
 * Returns the providers with `wire_api = "chat"` that `-c` can address: Codex splits the path at every dot, even in
 * quotes.
 */
export function listChatProviders(codexConfig: string): string[] {
  try {
    const config = parse(codexConfig, { integersAsBigInt: "asNeeded" });
    if (!isTomlTable(config)) return [];
    return listProviders(config)
      .filter(([id, table]) => table["wire_api"] === "chat" && /^[^.=]+$/.test(id))
      .map(([id]) => id);
  } catch {
    return []; // Codex reports what is wrong with its configuration
  }
}
