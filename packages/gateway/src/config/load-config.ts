import { readFileSync } from "node:fs";
import { dirname, join, relative } from "node:path";
import { describeReadError } from "./referenced-files.ts";
import type { Config } from "./config.ts";
import { createEnvironmentUpstreams, listEnvironmentWarnings } from "./provider-keys.ts";
import {
  resolveDataFolder,
  findConfigFile,
  storeFileName,
  type HostEnvironment,
} from "./config-paths.ts";
import { parseConfigFlags, type ConfigFlags } from "./config-flags.ts";
import { ConfigError } from "./config-problems.ts";
import { parseConfig } from "./parse-config.ts";

export interface LoadedConfig {
  readonly config: Config;
  readonly source: ConfigSource;
}

/** Where the upstreams come from, for the startup message. */
type ConfigSource =
  | { readonly kind: "file"; readonly path: string }
  | { readonly kind: "flags" }
  | { readonly kind: "environment"; readonly variables: readonly string[] }
  | { readonly kind: "nothing" };

/** Loads the configuration. `--data` takes precedence over `store.path`. Throws a ConfigError. */
export function loadConfig(flags: ConfigFlags, host: HostEnvironment): LoadedConfig {
  const loadedConfig = loadFromSources(flags, host);
  if (flags.data === undefined) return loadedConfig;
  const path = join(resolveDataFolder(flags.data, host), storeFileName);
  return {
    ...loadedConfig,
    config: { ...loadedConfig.config, store: { ...loadedConfig.config.store, path } },
  };
}

/** Uses the file plus `--upstream`; without a file only `--upstream`; without both the API keys in the environment. */
function loadFromSources(flags: ConfigFlags, host: HostEnvironment): LoadedConfig {
  const { env, cwd } = host;
  const { overrides, warnings } = parseConfigFlags(flags, env);
  const path = findConfigFile({ ...host, configFlag: flags.config });
  if (path !== undefined) {
    const file = toRelativePath(cwd, path);
    const config = parseConfig(readText(path, file), {
      file,
      env,
      overrides,
      folder: dirname(path),
      home: host.home,
      readFile: (name) => readFileSync(name, "utf8"),
    });
    return { config: addWarnings(config, warnings), source: { kind: "file", path } };
  }
  const optionsWithoutFile = { file: "command line", env };
  // Without a file there is no other way to set a token, which listening on addresses other than loopback requires.
  const text = env["DELTAWIRE_TOKEN"] ? `[server]\ntokens = ["env:DELTAWIRE_TOKEN"]\n` : "";
  if (overrides.upstreams !== undefined) {
    const config = parseConfig(text, { ...optionsWithoutFile, overrides });
    return { config: addWarnings(config, warnings), source: { kind: "flags" } };
  }
  const upstreams = createEnvironmentUpstreams(env);
  const config = parseConfig(text, {
    ...optionsWithoutFile,
    overrides: { ...overrides, upstreams },
  });
  const variables = upstreams.flatMap(({ apiKeyVariable }) => apiKeyVariable ?? []);
  return {
    config: addWarnings(config, [...warnings, ...listEnvironmentWarnings(env)]),
    source: upstreams.length > 0 ? { kind: "environment", variables } : { kind: "nothing" },
  };
}

export function getConfigFile({ source }: LoadedConfig): string | undefined {
  return source.kind === "file" ? source.path : undefined;
}

/** Returns a relative path if the file is in the working directory or below. */
function toRelativePath(cwd: string, path: string): string {
  const relativePath = relative(cwd, path);
  return relativePath.startsWith("..") || relativePath === "" ? path : relativePath;
}

function readText(path: string, file: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (cause) {
    throw new ConfigError([`${file}: ${describeReadError(cause)}`], { cause });
  }
}

function addWarnings(config: Config, extraWarnings: readonly string[]): Config {
  return { ...config, warnings: [...extraWarnings, ...config.warnings] };
}
