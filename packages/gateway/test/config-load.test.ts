import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findMessagesFlags, genericProfile, findProviderProfile } from "@deltawire/wire";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { parseBaseUrl } from "../src/config/base-url.ts";
import { createEnvironmentUpstreams, providerKeys } from "../src/config/provider-keys.ts";
import {
  listConfigPaths,
  getDefaultDataFolder,
  findConfigFile,
  type HostEnvironment,
} from "../src/config/config-paths.ts";
import type { ConfigFlags } from "../src/config/config-flags.ts";
import { loadConfig } from "../src/config/load-config.ts";
import { catchConfigError, getUpstream, zaiToml } from "./config-fixture.ts";

let folder: string;
let host: HostEnvironment & { cwd: string };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deltawire-config-"));
  const [cwd, home] = [join(folder, "here"), join(folder, "home")];
  mkdirSync(cwd);
  mkdirSync(join(home, ".config", "deltawire"), { recursive: true });
  host = { cwd, home, env: {}, platform: "linux" };
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

describe("the configuration file", () => {
  test("is that of --config, else in the working directory, else in the user's folder", () => {
    expect(findConfigFile(host)).toBeUndefined();
    const users = write(join(host.home, ".config", "deltawire", "deltawire.toml"), "");
    expect(findConfigFile(host)).toBe(users);
    const here = write(join(host.cwd, "deltawire.toml"), "");
    expect(findConfigFile(host)).toBe(here);
    const other = write(join(host.cwd, "other.toml"), "");
    expect(findConfigFile({ ...host, configFlag: "other.toml" })).toBe(other);
    expect(findConfigFile({ ...host, configFlag: other })).toBe(other);
  });

  test("must exist if --config names it", () => {
    write(join(host.cwd, "deltawire.toml"), "");
    expect(catchConfigError(() => findConfigFile({ ...host, configFlag: "no.toml" })).message).toBe(
      "--config: no.toml does not exist",
    );
  });

  test.each([
    ["linux", {}, ["/cwd/deltawire.toml", "/h/.config/deltawire/deltawire.toml"]],
    ["linux", { XDG_CONFIG_HOME: "/x" }, ["/cwd/deltawire.toml", "/x/deltawire/deltawire.toml"]],
    [
      "linux",
      { XDG_CONFIG_HOME: "x" },
      ["/cwd/deltawire.toml", "/h/.config/deltawire/deltawire.toml"],
    ],
    [
      "darwin",
      {},
      [
        "/cwd/deltawire.toml",
        "/h/.config/deltawire/deltawire.toml",
        "/h/Library/Application Support/deltawire/deltawire.toml",
      ],
    ],
  ] as const)("is searched on %s with %j in %j", (platform, env, places) => {
    expect(listConfigPaths({ cwd: "/cwd", home: "/h", env, platform })).toEqual(places);
  });

  test("is searched on Windows in the folders of Windows", () => {
    const windows = { cwd: String.raw`C:\cwd`, home: String.raw`C:\h`, platform: "win32" } as const;
    expect(listConfigPaths({ ...windows, env: { APPDATA: String.raw`D:\roaming` } })).toEqual([
      String.raw`C:\cwd\deltawire.toml`,
      String.raw`D:\roaming\deltawire\deltawire.toml`,
    ]);
    expect(listConfigPaths({ ...windows, env: {} })[1]).toBe(
      String.raw`C:\h\AppData\Roaming\deltawire\deltawire.toml`,
    );
  });
});

test.each([
  ["linux", {}, "/h/.local/share/deltawire"],
  ["linux", { XDG_DATA_HOME: "/d" }, "/d/deltawire"],
  ["linux", { XDG_DATA_HOME: "d" }, "/h/.local/share/deltawire"],
  ["darwin", {}, "/h/Library/Application Support/deltawire"],
  ["darwin", { XDG_DATA_HOME: "/d" }, "/d/deltawire"],
  ["win32", { LOCALAPPDATA: String.raw`D:\local` }, String.raw`D:\local\deltawire`],
] as const)("on %s with %j the data folder is %s", (platform, env, expected) => {
  expect(getDefaultDataFolder({ home: "/h", env, platform })).toBe(expected);
});

describe("API keys in the environment", () => {
  test("each have a valid URL, a known profile and a unique name", () => {
    for (const { baseUrl, profile } of providerKeys) {
      expect(parseBaseUrl(baseUrl)).toEqual({ url: baseUrl });
      expect(baseUrl).toMatch(/^https:/);
      expect(findProviderProfile(profile)?.name).toBe(profile);
    }
    expect(new Set(providerKeys.map(({ name }) => name)).size).toBe(providerKeys.length);
    expect(new Set(providerKeys.map(({ variable }) => variable)).size).toBe(providerKeys.length);
  });

  test("become upstreams if they are set and not empty", () => {
    const env = {
      OPENAI_API_KEY: "ok",
      ZAI_API_KEY: " zk\n",
      GROQ_API_KEY: "",
      OTHER_API_KEY: "x",
    };
    const upstreams = createEnvironmentUpstreams(env);
    expect(
      upstreams.map(({ name, speaks, apiKey, apiKeyVariable }) => [
        name,
        speaks,
        apiKey,
        apiKeyVariable,
      ]),
    ).toEqual([
      ["openai", "responses", "ok", "OPENAI_API_KEY"],
      ["zai", "chat", "zk", "ZAI_API_KEY"],
    ]);
    expect(upstreams[1]?.profile).toEqual(findProviderProfile("glm"));
  });

  test("are not sent to OpenAI if OPENAI_BASE_URL is another server", () => {
    const env = { OPENAI_API_KEY: "local-key", OPENAI_BASE_URL: "http://127.0.0.1:8000/v1" };
    expect(createEnvironmentUpstreams(env)).toEqual([]);
    expect(
      createEnvironmentUpstreams({ ...env, OPENAI_BASE_URL: "https://api.openai.com/v1/" }),
    ).toHaveLength(1);
    const { config, source } = loadConfig({}, { ...host, env });
    expect(source).toEqual({ kind: "nothing" });
    expect(config.warnings).toEqual([
      "OPENAI_API_KEY is not used because OPENAI_BASE_URL is not https://api.openai.com/v1; to use it, add --upstream URL --api-key-env OPENAI_API_KEY",
    ]);
  });
});

test("a key of Anthropic is used if ANTHROPIC_BASE_URL is its address, in the form of its clients", () => {
  const create = (url: string) =>
    createEnvironmentUpstreams({ ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: url });
  expect(create("https://api.anthropic.com")).toMatchObject([
    { name: "anthropic", speaks: "messages", baseUrl: "https://api.anthropic.com/v1" },
  ]);
  expect(create("https://api.anthropic.com.example")).toEqual([]);
  expect(create("http://127.0.0.1:4141")).toEqual([]);
});

describe("the configuration", () => {
  const load = (flags: ConfigFlags = {}, env: HostEnvironment["env"] = {}) =>
    loadConfig(flags, { ...host, env });

  test("is the demo by default", () => {
    const { config, source } = load();
    expect(source).toEqual({ kind: "nothing" });
    expect(config.server).toMatchObject({ host: "127.0.0.1", port: 4141, demo: true });
  });

  test("comes from API keys in the environment if there is no file and no flag", () => {
    const { config, source } = load({ port: "0" }, { ZAI_API_KEY: "zk", XAI_API_KEY: "xk" });
    expect(source).toEqual({ kind: "environment", variables: ["ZAI_API_KEY", "XAI_API_KEY"] });
    expect([...config.upstreams.keys()]).toEqual(["zai", "xai"]);
    expect(config.server).toMatchObject({ port: 0, demo: false });
  });

  test("comes from flags rather than the environment", () => {
    const env = { ZAI_API_KEY: "zk", MY_KEY: "mk" };
    const flags = { upstream: "http://localhost:8000/v1/", apiKeyEnv: "MY_KEY", profile: "vllm" };
    const { config, source } = load(flags, env);
    expect(source).toEqual({ kind: "flags" });
    expect([...config.upstreams.values()]).toEqual([
      {
        name: "local",
        messagesFlags: findMessagesFlags("vllm"),
        baseUrl: "http://localhost:8000/v1",
        speaks: "chat",
        detectsApi: false,
        profile: findProviderProfile("vllm"),
        apiKey: "mk",
        apiKeyVariable: "MY_KEY",
        apiKeyHeader: "authorization",
        headers: {},
        query: {},
        models: undefined,
        connectTimeoutMs: 10_000,
        idleTimeoutMs: 300_000,
        retries: 2,
      },
    ]);
    expect(config.server.demo).toBe(false);
  });

  test("comes from the file; flags add to it and take precedence", () => {
    const local = '[upstreams.local]\nbase_url = "http://localhost:7777/v1"\nspeaks = "chat"\n';
    const path = write(join(host.cwd, "deltawire.toml"), `[server]\nport = 1\n${zaiToml}${local}`);
    expect(load({}, { XAI_API_KEY: "xk" })).toMatchObject({ source: { kind: "file", path } });
    expect([...load({}, { XAI_API_KEY: "xk" }).config.upstreams.keys()]).toEqual(["zai", "local"]);
    const flags = {
      upstream: "http://localhost:8000/v1",
      speaks: "responses",
      detectsApi: false,
      port: "2",
      host: "::1",
    };
    const { config, source } = load(flags);
    expect(source).toEqual({ kind: "file", path });
    expect(config.server).toMatchObject({ host: "::1", port: 2 });
    expect([...config.upstreams.keys()]).toEqual(["zai", "local"]);
    expect(getUpstream(config, "local")).toMatchObject({
      baseUrl: "http://localhost:8000/v1",
      speaks: "responses",
      detectsApi: false,
      profile: genericProfile,
    });
  });

  test("names the file relative to the working directory in errors", () => {
    write(join(host.cwd, "deltawire.toml"), "x = 1");
    expect(catchConfigError(() => load()).message).toMatch(
      /^deltawire\.toml:1: unknown setting x; /,
    );
    const elsewhere = write(join(folder, "other.toml"), "x = 1");
    expect(catchConfigError(() => load({ config: elsewhere })).message).toBe(
      `${elsewhere}:1: unknown setting x; known tables: server, clients, upstreams, models, agents, tools, mcp, chats, skills, store, bus, model_providers`,
    );
  });

  test("has paths relative to its folder, and reads instructions", () => {
    const users = join(host.home, ".config", "deltawire");
    const toml = `[agents.a]
model = "demo/clean"
instructions_file = "a.md"
[tools.files]
folder = "~/notes"
[store]
path = "tasks.db"
`;
    write(join(users, "deltawire.toml"), toml);
    expect(catchConfigError(() => load()).message).toBe(
      `${join(users, "deltawire.toml")}:3: agents.a.instructions_file: ${join(users, "a.md")} does not exist; paths are relative to the folder of the configuration`,
    );
    write(join(users, "a.md"), "# A\n");
    const { config } = load();
    expect(config.agents.get("a")?.instructions).toBe("# A\n");
    expect(config.tools.files?.folder).toBe(join(host.home, "notes"));
    expect(config.store.path).toBe(join(users, "tasks.db"));
    write(join(users, "deltawire.toml"), toml.replace("a.md", "."));
    expect(catchConfigError(() => load()).message).toMatch(
      /instructions_file: .* is a folder; set the path of a file$/,
    );
  });

  test("that cannot be read is reported with the reason", () => {
    expect(catchConfigError(() => load({ config: "." })).message).toMatch(
      /is a folder; set the path of a file$/,
    );
  });

  test("is an error if a flag makes the gateway its own upstream", () => {
    expect(catchConfigError(() => load({ upstream: "http://localhost:4141/v1" })).message).toMatch(
      /^--upstream: points to this gateway itself, on port 4141/,
    );
    expect(load({ upstream: "http://localhost:4141/v1", port: "4142" }).source).toEqual({
      kind: "flags",
    });
  });

  test("requires a token if --host is not loopback", () => {
    const expectedMessage = /^--host: other machines could use your API keys.*set tokens/;
    expect(catchConfigError(() => load({ host: "0.0.0.0" })).message).toMatch(expectedMessage);
    write(join(host.cwd, "deltawire.toml"), '[server]\ntokens = ["0123456789abcdef"]');
    expect(load({ host: "0.0.0.0" }).config.server.host).toBe("0.0.0.0");
  });
});

describe("an upstream on the command line", () => {
  const nameOf = (upstream: string) => {
    const [name] = loadConfig({ upstream }, host).config.upstreams.keys();
    return name;
  };

  test.each([
    ["http://127.0.0.1:8000/v1", "local"],
    ["http://[::1]:8000/v1", "local"],
    ["https://api.deepseek.com", "deepseek"],
    ["https://openrouter.ai/api/v1", "openrouter"],
    ["https://api.z.ai/v4", "z"],
    ["https://llm.example.co.uk/v1", "example"],
    ["http://gpu-box:8000/v1", "gpu-box"],
    ["http://gpu-box.local:8000/v1", "gpu-box"],
    ["http://192.168.1.5:8000/v1", "192.168.1.5"],
    ["http://[fd00::1]:8000/v1", "fd00--1"],
    ["https://demo.com/v1", "upstream"],
  ])("for %s is named %s", (url, name) => {
    expect(nameOf(url)).toBe(name);
  });

  test("is a warning if its key is not set or is sent unencrypted", () => {
    const flags = { upstream: "http://api.example.org/v1", apiKeyEnv: "K" };
    expect(loadConfig(flags, host).config.warnings).toEqual([
      "--api-key-env: the environment variable K is not set; requests to example fail until it is set",
      "--upstream: sends the key unencrypted over the network; use https://",
    ]);
  });

  test.each([
    [
      { upstream: "localhost:8000" },
      "--upstream: must start with https://, or with http:// for a local server",
    ],
    [
      { upstream: "https://x.org", speaks: "chta" },
      "--speaks: must be chat, responses, messages or auto (did you mean chat?)",
    ],
    [
      { upstream: "https://x.org", speaks: "grpc" },
      "--speaks: must be chat, responses, messages or auto",
    ],
    [
      { upstream: "https://x.org", profile: "gml" },
      "--profile: unknown profile (did you mean glm?)",
    ],
    [
      { upstream: "https://x.org", apiKeyEnv: "sk-1" },
      "--api-key-env: must be the name of an environment variable, not the key itself",
    ],
    [{ speaks: "chat" }, "--speaks: requires --upstream URL"],
    [{ port: "80a" }, '--port: must be a port number from 0 to 65535, got "80a"'],
    [{ port: "70000" }, '--port: must be a port number from 0 to 65535, got "70000"'],
    [{ port: "" }, '--port: must be a port number from 0 to 65535, got ""'],
  ])("with %j is an error", (flags, what) => {
    expect(catchConfigError(() => loadConfig(flags, host)).problems).toEqual([what]);
  });
});
