import { WireError } from "../error.ts";
import {
  isProviderField,
  isTable,
  parseModelProvider,
  wrongType,
  type ModelProvider,
} from "./provider.ts";
import { trim } from "./rust-text.ts";

export interface CheckedCodexConfig {
  /** The one in use. */
  model_provider: string;
  /** Those that the configuration defines, by id. */
  model_providers: Record<string, ModelProvider>;
  /** What Codex would warn of and go on: settings that it does not know. */
  warnings: string[];
}

/**
 * A whole `config.toml`, parsed by the caller, as far as model providers go. Throws, for any provider in it, used or
 * not, what Codex 0.166 prints before it exits.
 */
export function checkCodexConfig(
  config: unknown,
  file: string = "config.toml",
): CheckedCodexConfig {
  if (!isTable(config)) throw cannotLoad(wrongType(config, "struct ConfigToml"));
  const tables = config["model_providers"] ?? {};
  if (!isTable(tables)) throw cannotLoad(wrongType(tables, "a map"), "model_providers");
  const model_providers = Object.fromEntries(
    Object.entries(tables).map(([id, table]) => [id, providerOf(id, table)]),
  );
  const fault = faultOf(model_providers);
  if (fault !== undefined)
    throw cannotLoad(new WireError("invalid_config", fault), "model_providers");
  return {
    model_provider: providerInUse(config["model_provider"] ?? "openai", model_providers),
    model_providers,
    warnings: warningsOf(unknownSettings(config, tables), file),
  };
}

function providerOf(id: string, table: unknown): ModelProvider {
  try {
    return parseModelProvider(table);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const field = error.param === undefined ? "" : `.${error.param}`;
    throw cannotLoad(error, `model_providers.${id}${field}`);
  }
}

function faultOf(providers: Record<string, ModelProvider>): string | undefined {
  const reserved = Object.keys(providers).filter((id) => reservedIds.has(id));
  if (reserved.length > 0) {
    const ids = reserved.toSorted().map((id) => `\`${id}\``);
    return `model_providers contains reserved built-in provider IDs: ${ids.join(", ")}. Built-in providers cannot be overridden. Rename your custom provider (for example, \`openai-custom\`).`;
  }
  for (const [id, { name }] of Object.entries(providers))
    if (trim(name) === "" && !adjustableIds.has(id))
      return `model_providers.${id}: provider name must not be empty`;
  return undefined;
}

const reservedIds = new Set(["openai", "ollama", "lmstudio"]);
/** Built in, but a configuration may change them, and need not name them. */
const adjustableIds = new Set(["amazon-bedrock", "amazon-bedrock-runtime"]);

function providerInUse(id: unknown, providers: Record<string, ModelProvider>): string {
  if (typeof id !== "string") throw cannotLoad(wrongType(id, "a string"), "model_provider");
  if (Object.hasOwn(providers, id) || reservedIds.has(id) || adjustableIds.has(id)) return id;
  const message = id === "ollama-chat" ? ollamaChatIsRemoved : `Model provider \`${id}\` not found`;
  throw new WireError("invalid_config", `Error: ${message}`, { param: "model_provider" });
}

const ollamaChatIsRemoved = `\`ollama-chat\` is no longer supported.
How to fix: replace \`ollama-chat\` with \`ollama\` in \`model_provider\`, \`oss_provider\`, or \`--local-provider\`.
More info: https://github.com/openai/codex/discussions/7782`;

/** Of what stands outside of the providers, only a provider's own field is known to be misplaced. */
function unknownSettings(
  config: Record<string, unknown>,
  tables: Record<string, unknown>,
): string[] {
  const inTables = Object.entries(tables).flatMap(([id, table]) =>
    Object.keys(table as object)
      .filter((field) => !isProviderField(field))
      .map((field) => `model_providers.${id}.${field}`),
  );
  return [...Object.keys(config).filter(isProviderField), ...inTables].toSorted();
}

function warningsOf(settings: readonly string[], file: string): string[] {
  if (settings.length === 0) return [];
  const [noun, more] = [settings.length === 1 ? "setting" : "settings", settings.length - listed];
  return [
    [
      `Codex is ignoring ${settings.length} unrecognized configuration ${noun}. Check for typos or deprecated settings.`,
      ...settings.slice(0, listed).map((path) => `  user (${file}): \`${path}\` is ignored.`),
      ...(more > 0 ? [`  ... and ${more} more ignored settings.`] : []),
    ].join("\n"),
  ];
}

const listed = 3;

function cannotLoad(fault: WireError, path?: string): WireError {
  const where = path === undefined ? "" : `\nin \`${path}\``;
  return new WireError(
    "invalid_config",
    `Error loading config.toml: ${fault.message}${where}`,
    path === undefined ? { cause: fault } : { param: path, cause: fault },
  );
}
