import { parse, TomlError } from "smol-toml";
import { readAgents } from "./agents.ts";
import { pointsAtGateway } from "./base-url.ts";
import { pathFrom, type Beside } from "./beside.ts";
import { readChats } from "./chats.ts";
import { isCodexConfig, readCodexProviders, withoutCodexSettings } from "./codex-providers.ts";
import type { Config, StoreConfig, UpstreamConfig } from "./config.ts";
import { decodeSection, placesOf } from "./decode.ts";
import { isTable, type Reading, type Table } from "./decode-value.ts";
import { readMcpServers } from "./mcp.ts";
import { readModelNames } from "./model-names.ts";
import { didYouMean, nearest } from "@deltawire/tasks";
import { ConfigError, Problems, type Place } from "./problems.ts";
import type { Environment } from "./secret.ts";
import { readServer, type ServerOverrides } from "./server.ts";
import { readSkills } from "./skills.ts";
import { tomlMistake } from "./toml-mistake.ts";
import { readTools } from "./tools.ts";
import { readUpstreams } from "./upstream.ts";

export interface ReadOptions extends Beside {
  /** For messages. */
  readonly file: string;
  readonly env: Environment;
  /** What the command line or the environment adds; it wins over the file. */
  readonly overrides?: Overrides;
}

export interface Overrides extends ServerOverrides {
  readonly upstreams?: readonly UpstreamConfig[];
}

/** A whole configuration from the text of `deltawire.toml`. Throws a ConfigError with all that is wrong in it. */
export function readConfig(text: string, options: ReadOptions): Config {
  const { file, env, overrides = {} } = options;
  const document = withoutCodexSettings(parseToml(text, file));
  const problems = new Problems(file, text);
  const reading = { env, problems };
  checkSections(document, problems);
  const { demo: wantsDemo, ...server } = readServer(document, overrides, reading);
  const found = allUpstreams(document, { file, env, overrides }, reading);
  for (const { name, upstream, place } of found.values()) {
    if (name === "demo" && wantsDemo !== false)
      problems.error(
        place,
        "has the name of the built-in demo; take another one, or set demo = false under [server]",
      );
    if (upstream !== undefined && pointsAtGateway(upstream.baseUrl, server))
      problems.error(
        place,
        `leads to this gateway itself, on port ${server.port}; name the server behind it, or take it out`,
      );
  }
  const upstreams = new Map([...found].map(([name, { upstream }]) => [name, upstream]));
  const demo = wantsDemo ?? upstreams.size === 0;
  const models = readModelNames(document["models"], { upstreams, demo }, reading);
  const tools = readTools(document["tools"], options, reading);
  const mcp = readMcpServers(document["mcp"], options, reading);
  const known = { upstreams, demo, models, tools, mcp, beside: options };
  const agents = readAgents(document["agents"], known, reading);
  const written = document["agents"];
  const chats = readChats(
    document["chats"],
    { ...known, agents: isTable(written) ? written : {} },
    reading,
  );
  const skills = readSkills(document["skills"], options, reading);
  const store = readStore(document["store"], options, reading);
  problems.throwIfAny();
  return {
    server: { ...server, demo },
    upstreams: new Map([...upstreams].filter(isUsable)),
    models,
    agents,
    tools: tools.groups,
    mcp: new Map([...mcp].filter(isUsable)),
    chats,
    skills,
    store,
    warnings: problems.warnings,
  };
}

function isUsable<T>(entry: readonly [string, T | undefined]): entry is [string, T] {
  return entry[1] !== undefined;
}

function parseToml(text: string, file: string): Table {
  try {
    return parse(text);
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    throw new ConfigError([`${file}:${tomlMistake(text, error)}`]);
  }
}

const sections = [
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
  "model_providers",
] as const;

function checkSections(document: Table, problems: Problems): void {
  const isCodex = isCodexConfig(document);
  const known: readonly string[] = sections;
  for (const [name, value] of Object.entries(document)) {
    if (known.includes(name)) continue;
    if (!isCodex) {
      const [place] = placesOf(name);
      const near = didYouMean(name, sections) || (place === undefined ? "" : belowTable(place));
      problems.error([name], `is no setting;${near || ` known are ${sections.join(", ")}`}`);
    } else if (isTable(value) && nearest(name, sections) !== undefined)
      // Not an error, for Codex has more tables with every release.
      problems.warn([name], `is not read here;${didYouMean(name, sections)}`);
  }
}

/** A setting that stands above all tables, or below the wrong one. */
function belowTable(place: string): string {
  const [table = "", setting = ""] = /^(.*)\.([^.]*)$/.exec(place)?.slice(1) ?? [];
  return ` did you mean ${setting} below [${table.replace("*", "NAME")}]?`;
}

interface FoundUpstream {
  readonly name: string;
  readonly upstream: UpstreamConfig | undefined;
  readonly place: Place;
}

function allUpstreams(
  document: Table,
  { file, overrides }: ReadOptions,
  reading: Reading,
): Map<string, FoundUpstream> {
  const found = new Map<string, FoundUpstream>();
  for (const [name, upstream] of readUpstreams(document["upstreams"], reading))
    found.set(name, { name, upstream, place: ["upstreams", name, "base_url"] });
  if (isCodexConfig(document))
    for (const [name, upstream] of readCodexProviders(document, file, reading)) {
      const path = ["model_providers", name];
      if (found.has(name))
        reading.problems.error(path, `is there as upstreams.${name} too; rename one of the two`);
      found.set(name, { name, upstream, place: [...path, "base_url"] });
    }
  for (const upstream of overrides?.upstreams ?? [])
    found.set(upstream.name, { name: upstream.name, upstream, place: "--upstream" });
  return found;
}

/** `[store]`: where tasks are stored, and for how long. */
function readStore(table: unknown, beside: Beside, reading: Reading): StoreConfig {
  const given = decodeSection("store", table, ["store"], reading);
  return {
    enabled: given.enabled,
    path: given.path === undefined ? undefined : pathFrom(beside, given.path),
    keepDays: given.keep_days === 0 ? undefined : given.keep_days,
    maxMb: given.max_mb,
  };
}
