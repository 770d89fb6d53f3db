import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { readFault } from "./beside.ts";
import type { Config } from "./config.ts";
import { environmentUpstreams, environmentWarnings } from "./environment.ts";
import { dataFolderOf, findConfig, storeFileName, type World } from "./find.ts";
import { readFlags, type ConfigFlags } from "./flags.ts";
import { ConfigError } from "./problems.ts";
import { readConfig } from "./read.ts";

export interface LoadedConfig {
  readonly config: Config;
  readonly source: ConfigSource;
}

/** Where the upstreams come from, for the message at the start. */
type ConfigSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "flags" }
  | { readonly kind: "environment"; readonly variables: readonly string[] }
  | { readonly kind: "nothing" };

/** The configuration of this start. With `--data` the store lies there, whatever the file says. */
export function loadConfig(flags: ConfigFlags, world: World): LoadedConfig {
  const loaded = loadFrom(flags, world);
  if (flags.data === undefined) return loaded;
  const path = join(dataFolderOf(flags.data, world), storeFileName);
  return { ...loaded, config: { ...loaded.config, store: { ...loaded.config.store, path } } };
}

/** A file, else an upstream of the command line, else keys of the environment. */
function loadFrom(flags: ConfigFlags, world: World): LoadedConfig {
  const { env, cwd } = world;
  const { overrides, warnings } = readFlags(flags, env);
  const path = findConfig({ ...world, explicit: flags.config });
  if (path !== undefined) {
    const file = shownPath(cwd, path);
    const config = readConfig(textOf(path, file), {
      file,
      env,
      overrides,
      folder: dirname(path),
      home: world.home,
      readFile: (name) => readFileSync(name, "utf8"),
    });
    return { config: withWarnings(config, warnings), source: { kind: "file", path } };
  }
  const without = { file: "command line", env };
  // Without a file there is no other place to name a token, which an address beyond loopback needs.
  const text = env["DELTAWIRE_TOKEN"] ? `[server]\ntokens = ["env:DELTAWIRE_TOKEN"]\n` : "";
  if (overrides.upstreams !== undefined) {
    const config = readConfig(text, { ...without, overrides });
    return { config: withWarnings(config, warnings), source: { kind: "flags" } };
  }
  const upstreams = environmentUpstreams(env);
  const config = readConfig(text, { ...without, overrides: { ...overrides, upstreams } });
  const variables = upstreams.flatMap(({ apiKeyVariable }) => apiKeyVariable ?? []);
  return {
    config: withWarnings(config, [...warnings, ...environmentWarnings(env)]),
    source: upstreams.length > 0 ? { kind: "environment", variables } : { kind: "nothing" },
  };
}

export function configFileOf({ source }: LoadedConfig): string | undefined {
  return source.kind === "file" ? source.path : undefined;
}

/** Short where the file is in the working folder or below. */
function shownPath(cwd: string, path: string): string {
  const short = relative(cwd, path);
  return short.startsWith("..") || short === "" ? path : short;
}

function textOf(path: string, file: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError([`${file}: ${readFault(cause)}`], { cause });
  }
}

function withWarnings(config: Config, more: readonly string[]): Config {
  return { ...config, warnings: [...more, ...config.warnings] };
}
