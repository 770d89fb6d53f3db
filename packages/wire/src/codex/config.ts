import { WireError } from "../error.ts";
import {
  isProviderField,
  isConfigTable,
  parseModelProvider,
  createTypeError,
  type ModelProvider,
} from "./model-provider.ts";
import { trimLikeRust } from "./rust-text.ts";

export interface ValidatedCodexConfig {
  /** Id of the selected provider. */
  model_provider: string;
  /** The providers that the configuration defines, by id. */
  model_providers: Record<string, ModelProvider>;
  /** Codex's warnings about unknown settings, which it ignores. */
  warnings: string[];
}

/**
 * Validates the model providers of a parsed `config.toml`, including those that are not selected. Throws
 * `invalid_config` with the text that Codex 0.166 prints before it exits.
 */
export function validateCodexConfig(
  config: unknown,
  file: string = "config.toml",
): ValidatedCodexConfig {
  if (!isConfigTable(config)) throw createLoadError(createTypeError(config, "struct ConfigToml"));
  const tables = config["model_providers"] ?? {};
  if (!isConfigTable(tables))
    throw createLoadError(createTypeError(tables, "a map"), "model_providers");
  const model_providers = Object.fromEntries(
    Object.entries(tables).map(([id, table]) => [id, parseProvider(id, table)]),
  );
  const cause = findProviderError(model_providers);
  if (cause !== undefined)
    throw createLoadError(new WireError("invalid_config", cause), "model_providers");
  return {
    model_provider: resolveProviderId(config["model_provider"] ?? "openai", model_providers),
    model_providers,
    warnings: buildWarnings(findUnknownSettings(config, tables), file),
  };
}

function parseProvider(id: string, table: unknown): ModelProvider {
  try {
    return parseModelProvider(table);
  } catch (error) {
    if (!(error instanceof WireError)) throw error;
    const field = error.param === undefined ? "" : `.${error.param}`;
    throw createLoadError(error, `model_providers.${id}${field}`);
  }
}

function findProviderError(providers: Record<string, ModelProvider>): string | undefined {
  const usedReservedIds = Object.keys(providers).filter((id) => reservedIds.has(id));
  if (usedReservedIds.length > 0) {
    const ids = usedReservedIds.toSorted().map((id) => `\`${id}\``);
    return `model_providers contains reserved built-in provider IDs: ${ids.join(", ")}. Built-in providers cannot be overridden. Rename your custom provider (for example, \`openai-custom\`).`;
  }
  for (const [id, { name }] of Object.entries(providers))
    if (trimLikeRust(name) === "" && !overridableIds.has(id))
      return `model_providers.${id}: provider name must not be empty`;
  return undefined;
}

const reservedIds = new Set(["openai", "ollama", "lmstudio"]);
/** Built-in providers that a configuration may override; `name` is optional for them. */
const overridableIds = new Set(["amazon-bedrock", "amazon-bedrock-runtime"]);

function resolveProviderId(id: unknown, providers: Record<string, ModelProvider>): string {
  if (typeof id !== "string")
    throw createLoadError(createTypeError(id, "a string"), "model_provider");
  if (Object.hasOwn(providers, id) || reservedIds.has(id) || overridableIds.has(id)) return id;
  const message =
    id === "ollama-chat" ? ollamaChatRemovedMessage : `Model provider \`${id}\` not found`;
  throw new WireError("invalid_config", `Error: ${message}`, { param: "model_provider" });
}

const ollamaChatRemovedMessage = `\`ollama-chat\` is no longer supported.
How to fix: replace \`ollama-chat\` with \`ollama\` in \`model_provider\`, \`oss_provider\`, or \`--local-provider\`.
More info: https://github.com/openai/codex/discussions/7782`;

/** At the top level, only provider fields are reported: other settings are not validated here. */
function findUnknownSettings(
  config: Record<string, unknown>,
  tables: Record<string, unknown>,
): string[] {
  const unknownProviderFields = Object.entries(tables).flatMap(([id, table]) =>
    Object.keys(table as object)
      .filter((field) => !isProviderField(field))
      .map((field) => `model_providers.${id}.${field}`),
  );
  return [...Object.keys(config).filter(isProviderField), ...unknownProviderFields].toSorted();
}

function buildWarnings(settings: readonly string[], file: string): string[] {
  if (settings.length === 0) return [];
  const [noun, remaining] = [
    settings.length === 1 ? "setting" : "settings",
    settings.length - maxListedSettings,
  ];
  return [
    [
      `Codex is ignoring ${settings.length} unrecognized configuration ${noun}. Check for typos or deprecated settings.`,
      ...settings
        .slice(0, maxListedSettings)
        .map((path) => `  user (${file}): \`${path}\` is ignored.`),
      ...(remaining > 0 ? [`  ... and ${remaining} more ignored settings.`] : []),
    ].join("\n"),
  ];
}

const maxListedSettings = 3;

function createLoadError(cause: WireError, path?: string): WireError {
  const location = path === undefined ? "" : `\nin \`${path}\``;
  return new WireError(
    "invalid_config",
    `Error loading config.toml: ${cause.message}${location}`,
    path === undefined ? { cause } : { param: path, cause },
  );
}
