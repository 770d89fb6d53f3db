import { parseBaseUrl } from "../config/base-url.ts";
import { isTomlTable, type TomlTable } from "../config/decode-section.ts";
import { ConfigError } from "../config/config-problems.ts";
import { parseConfig } from "../config/parse-config.ts";
import type { EnvironmentVariables } from "../config/secret.ts";
import type { NamedUpstream } from "./migrated-upstream.ts";
import { MigrationError } from "./migration-error.ts";
import { formatTomlInlineTable, formatTomlKey, formatTomlString } from "./format-toml.ts";

export interface GatewayConfigFile {
  /** The path of the file, as shown in messages. */
  readonly file: string;
  /** Undefined if the file does not exist. */
  readonly text: string | undefined;
}

/**
 * Appends upstreams to deltawire.toml, or creates its text. Throws a MigrationError if the new upstreams are invalid; problems
 * that the file already had are ignored.
 */
export function appendUpstreams(
  { file, text }: GatewayConfigFile,
  upstreams: readonly NamedUpstream[],
  env: EnvironmentVariables,
): string | undefined {
  if (upstreams.length === 0) return text;
  const blocks = upstreams.map((upstream) => `${formatUpstream(upstream).join("\n")}\n`).join("\n");
  const newText = text === undefined ? `${headerComment}\n\n${blocks}` : appendBlocks(text, blocks);
  const existingProblems = findConfigProblems(text ?? "", file, env);
  const problems = findConfigProblems(newText, file, env).filter(
    (problem) => !existingProblems.includes(problem),
  );
  if (problems.length > 0)
    throw new MigrationError(
      `the migrated configuration would be invalid:\n${problems.join("\n")}`,
    );
  return newText;
}

const headerComment = "# Created from a Codex configuration by the command `migrate`.";

function formatUpstream(upstream: NamedUpstream): string[] {
  const { headers, query, models, idleTimeoutSeconds, retries } = upstream;
  const lines = [
    `[upstreams.${formatTomlKey(upstream.name)}]`,
    `base_url = ${formatTomlString(upstream.baseUrl)}`,
  ];
  if (upstream.keyVariable !== undefined) {
    const instructions = upstream.keyInstructions?.split(/\s*[\r\n]+\s*/) ?? [];
    lines.push(...instructions.map((line) => `# ${line}`));
    lines.push(`api_key = ${formatTomlString(`env:${upstream.keyVariable}`)}`);
  }
  lines.push('speaks = "chat"');
  if (upstream.profile !== undefined) lines.push(`profile = ${formatTomlString(upstream.profile)}`);
  if (headers.size > 0) lines.push(`headers = ${formatTomlInlineTable(headers)}`);
  if (query.size > 0) lines.push(`query = ${formatTomlInlineTable(query)}`);
  if (idleTimeoutSeconds !== undefined) lines.push(`idle_timeout_seconds = ${idleTimeoutSeconds}`);
  if (retries !== undefined) lines.push(`retries = ${retries}`);
  if (models.length > 0)
    lines.push(`models = [${models.map((model) => formatTomlString(model)).join(", ")}]`);
  return lines;
}

function appendBlocks(text: string, blocks: string): string {
  if (text.trim() === "") return text + blocks;
  const lineEnding = text.includes("\r\n") ? "\r\n" : "\n";
  const gap = text.endsWith("\n") ? lineEnding : lineEnding.repeat(2);
  return text + gap + blocks.replaceAll("\n", lineEnding);
}

function findConfigProblems(
  text: string,
  file: string,
  env: EnvironmentVariables,
): readonly string[] {
  try {
    parseConfig(text, { file, env });
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

/** Chooses names for upstreams that deltawire.toml does not use yet. */
export class UpstreamNameAllocator {
  /** The used names with their base URLs; undefined for a name that cannot be shared. */
  readonly #baseUrls = new Map<string, string | undefined>([["demo", undefined]]);

  constructor(gatewayConfig: TomlTable) {
    for (const [name, table] of listTables(gatewayConfig["upstreams"]))
      this.#baseUrls.set(name, parseUpstreamUrl(table));
    for (const [name] of listTables(gatewayConfig["model_providers"]))
      this.#baseUrls.set(name, undefined);
  }

  /** Returns the first of `zai`, `zai-2`… that is free, or already has the same base URL. */
  allocate(id: string, baseUrl: string): { name: string; isExisting: boolean } {
    const baseName = id.replaceAll(/[^\w.-]+/g, "-");
    for (let count = 1; ; count += 1) {
      const name = count === 1 ? baseName : `${baseName}-${count}`;
      const isExisting = this.#baseUrls.get(name) === baseUrl;
      if (this.#baseUrls.has(name) && !isExisting) continue;
      this.#baseUrls.set(name, undefined);
      return { name, isExisting };
    }
  }
}

function listTables(value: unknown): [string, TomlTable][] {
  return Object.entries(isTomlTable(value) ? value : {}).map(([name, table]) => [
    name,
    isTomlTable(table) ? table : {},
  ]);
}

function parseUpstreamUrl(table: TomlTable): string | undefined {
  const address = parseBaseUrl(String(table["base_url"]));
  return "url" in address ? address.url : undefined;
}

/** The bearer token that Codex sends: a placeholder if the gateway requires none, else the variable of a configured token. */
export type BearerSource = { readonly placeholder: string } | { readonly variable: string };

export function chooseBearer(gatewayConfig: TomlTable): BearerSource {
  const server = isTomlTable(gatewayConfig["server"]) ? gatewayConfig["server"] : {};
  const serverTokens: unknown[] = Array.isArray(server["tokens"]) ? server["tokens"] : [];
  const tokens = [
    ...serverTokens,
    ...listTables(gatewayConfig["clients"]).map(([, table]) => table["token"]),
  ];
  if (tokens.length === 0) return { placeholder: "local" };
  const variables = tokens.flatMap((token) =>
    typeof token === "string" && token.startsWith("env:") ? [token.slice("env:".length)] : [],
  );
  return { variable: variables[0] ?? "DELTAWIRE_TOKEN" };
}
