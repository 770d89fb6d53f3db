import { parse, TomlError } from "smol-toml";
import { decodeAgents } from "./agents.ts";
import { pointsAtGateway } from "./base-url.ts";
import { decodeBus } from "./bus.ts";
import type { ConfigFileContext } from "./referenced-files.ts";
import { decodeChats } from "./chats.ts";
import { isCodexConfig, decodeCodexProviders, withoutCodexSettings } from "./codex-providers.ts";
import type { Config, UpstreamConfig } from "./config.ts";
import { findSettingPaths } from "./decode-section.ts";
import { isTomlTable, type DecodeContext, type TomlTable } from "./decode-value.ts";
import { decodeMcpServers } from "./mcp-servers.ts";
import { decodeModelAliases } from "./model-aliases.ts";
import { didYouMean, findClosestMatch } from "@deltawire/tasks";
import { ConfigError, ConfigProblems, type SettingLocation } from "./config-problems.ts";
import type { EnvironmentVariables } from "./secret.ts";
import { decodeServer, type ServerOverrides } from "./server.ts";
import { decodeSkills } from "./skills.ts";
import { decodeStore } from "./store.ts";
import { explainTomlError } from "./explain-toml-error.ts";
import { decodeTools } from "./tools.ts";
import { decodeUpstreams } from "./upstreams.ts";

export interface ParseConfigOptions extends ConfigFileContext {
  /** The name of the file in messages. */
  readonly file: string;
  readonly env: EnvironmentVariables;
  /** Settings of the command line and the environment. They take precedence over the file. */
  readonly overrides?: ConfigOverrides;
}

export interface ConfigOverrides extends ServerOverrides {
  readonly upstreams?: readonly UpstreamConfig[];
}

/** Parses the text of `deltawire.toml`. Throws a ConfigError with all problems. */
export function parseConfig(text: string, options: ParseConfigOptions): Config {
  const { file, env, overrides = {} } = options;
  const document = withoutCodexSettings(parseToml(text, file));
  const problems = new ConfigProblems(file, text);
  const context = { env, problems };
  checkSections(document, problems);
  const { demo: demoSetting, ...server } = decodeServer(document, overrides, context);
  const upstreamsByName = collectUpstreams(document, { file, env, overrides }, context);
  for (const { name, upstream, location } of upstreamsByName.values()) {
    if (name === "demo" && demoSetting !== false)
      problems.error(
        location,
        "demo is the built-in upstream; choose another name, or set demo = false under [server]",
      );
    if (upstream !== undefined && pointsAtGateway(upstream.baseUrl, server))
      problems.error(
        location,
        `points to this gateway itself, on port ${server.port}; use the address of the model provider, or remove the upstream`,
      );
  }
  const upstreams = new Map([...upstreamsByName].map(([name, { upstream }]) => [name, upstream]));
  const hasDemo = demoSetting ?? upstreams.size === 0;
  const { models, modelPatterns } = decodeModelAliases(
    document["models"],
    { upstreams, hasDemo },
    context,
  );
  const tools = decodeTools(document["tools"], options, context);
  const mcp = decodeMcpServers(document["mcp"], options, context);
  const references = { upstreams, hasDemo, models, tools, mcp, fileContext: options };
  const agents = decodeAgents(document["agents"], references, context);
  const agentTables = document["agents"];
  const chats = decodeChats(
    document["chats"],
    { ...references, agents: isTomlTable(agentTables) ? agentTables : {} },
    context,
  );
  const skills = decodeSkills(document["skills"], options, context);
  const store = decodeStore(document["store"], options, context);
  const storeTable = document["store"];
  const hasDatabase = isTomlTable(storeTable) && storeTable["url"] !== undefined;
  const bus = decodeBus(document["bus"], { store, hasDatabase }, context);
  problems.throwIfAny();
  return {
    server: { ...server, demo: hasDemo },
    upstreams: new Map([...upstreams].filter(isDefined)),
    models,
    modelPatterns,
    agents,
    tools: tools.groups,
    mcp: new Map([...mcp].filter(isDefined)),
    chats,
    skills,
    store,
    bus,
    warnings: problems.warnings,
  };
}

function isDefined<T>(entry: readonly [string, T | undefined]): entry is [string, T] {
  return entry[1] !== undefined;
}

function parseToml(text: string, file: string): TomlTable {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new ConfigError([`${file}:${explainTomlError(text, error)}`]);
  }
}

const sectionNames = [
  "server",
  "clients",
  "upstreams",
  "models",
  "agents",
  "tools",
  "mcp",
  "chats",
  "skills",
  "store",
  "bus",
  "model_providers",
] as const;

function checkSections(document: TomlTable, problems: ConfigProblems): void {
  const isCodex = isCodexConfig(document);
  const knownSections: readonly string[] = sectionNames;
  for (const [name, value] of Object.entries(document)) {
    if (knownSections.includes(name)) continue;
    if (!isCodex) {
      const [settingPath] = findSettingPaths(name);
      const suggestion =
        didYouMean(name, sectionNames) ||
        (settingPath === undefined ? "" : suggestTable(settingPath)) ||
        `; known tables: ${sectionNames.join(", ")}`;
      if (isTomlTable(value)) problems.reportUnknownTable([name], suggestion);
      else problems.reportUnknownSetting([name], suggestion);
    } else if (isTomlTable(value) && findClosestMatch(name, sectionNames) !== undefined)
      // Not an error: every release of Codex adds tables.
      problems.warn([name], `ignored${didYouMean(name, sectionNames)}`);
  }
}

/** Suggests the table of a setting that is outside of all tables. */
function suggestTable(settingPath: string): string {
  const [table = "", setting = ""] = /^(.*)\.([^.]*)$/.exec(settingPath)?.slice(1) ?? [];
  return ` (did you mean ${setting} under [${table.replace("*", "NAME")}]?)`;
}

interface LocatedUpstream {
  readonly name: string;
  readonly upstream: UpstreamConfig | undefined;
  readonly location: SettingLocation;
}

function collectUpstreams(
  document: TomlTable,
  { file, overrides }: ParseConfigOptions,
  context: DecodeContext,
): Map<string, LocatedUpstream> {
  const upstreamsByName = new Map<string, LocatedUpstream>();
  for (const [name, upstream] of decodeUpstreams(document["upstreams"], context))
    upstreamsByName.set(name, { name, upstream, location: ["upstreams", name, "base_url"] });
  if (isCodexConfig(document))
    for (const [name, upstream] of decodeCodexProviders(document, file, context)) {
      const path = ["model_providers", name];
      if (upstreamsByName.has(name))
        context.problems.error(path, `has the same name as upstreams.${name}; rename one of them`);
      upstreamsByName.set(name, { name, upstream, location: [...path, "base_url"] });
    }
  for (const upstream of overrides?.upstreams ?? [])
    upstreamsByName.set(upstream.name, { name: upstream.name, upstream, location: "--upstream" });
  return upstreamsByName;
}
