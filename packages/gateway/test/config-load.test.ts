import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { genericProfile, profileNamed } from "@deltawire/wire";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { checkBaseUrl } from "../src/config/base-url.ts";
import { environmentUpstreams, knownKeys } from "../src/config/environment.ts";
import { configPlaces, dataFolder, findConfig, type World } from "../src/config/find.ts";
import type { ConfigFlags } from "../src/config/flags.ts";
import { loadConfig } from "../src/config/load.ts";
import { refusalOf, upstreamOf, zai } from "./reading-config.ts";

let folder: string;
let world: World & { cwd: string };

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "deltawire-config-"));
  const [cwd, home] = [join(folder, "here"), join(folder, "home")];
  mkdirSync(cwd);
  mkdirSync(join(home, ".config", "deltawire"), { recursive: true });
  world = { cwd, home, env: {}, platform: "linux" };
});
afterEach(() => rmSync(folder, { recursive: true }));

function write(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}

describe("the file that is read", () => {
  test("is the one asked for, else that of the working folder, else the user's", () => {
    expect(findConfig(world)).toBeUndefined();
    const users = write(join(world.home, ".config", "deltawire", "deltawire.toml"), "");
    expect(findConfig(world)).toBe(users);
    const here = write(join(world.cwd, "deltawire.toml"), "");
    expect(findConfig(world)).toBe(here);
    const other = write(join(world.cwd, "other.toml"), "");
    expect(findConfig({ ...world, explicit: "other.toml" })).toBe(other);
    expect(findConfig({ ...world, explicit: other })).toBe(other);
  });

  test("has to be there if it was asked for", () => {
    write(join(world.cwd, "deltawire.toml"), "");
    expect(refusalOf(() => findConfig({ ...world, explicit: "no.toml" })).message).toBe(
      "--config: no.toml does not exist; give the path of a file",
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
  ] as const)("is looked for on %s with %j in %j", (platform, env, places) => {
    expect(configPlaces({ cwd: "/cwd", home: "/h", env, platform })).toEqual(places);
  });

  test("is looked for on Windows in its own folders", () => {
    const windows = { cwd: String.raw`C:\cwd`, home: String.raw`C:\h`, platform: "win32" } as const;
    expect(configPlaces({ ...windows, env: { APPDATA: String.raw`D:\roaming` } })).toEqual([
      String.raw`C:\cwd\deltawire.toml`,
      String.raw`D:\roaming\deltawire\deltawire.toml`,
    ]);
    expect(configPlaces({ ...windows, env: {} })[1]).toBe(
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
  expect(dataFolder({ home: "/h", env, platform })).toBe(expected);
});

describe("keys of the environment", () => {
  test("are each for a good address and a known profile, under names of their own", () => {
    for (const { baseUrl, profile } of knownKeys) {
      expect(checkBaseUrl(baseUrl)).toEqual({ url: baseUrl });
      expect(baseUrl).toMatch(/^https:/);
      expect(profileNamed(profile)?.name).toBe(profile);
    }
    expect(new Set(knownKeys.map(({ name }) => name)).size).toBe(knownKeys.length);
    expect(new Set(knownKeys.map(({ variable }) => variable)).size).toBe(knownKeys.length);
  });

  test("that are set are ready upstreams; an empty one is not set", () => {
    const env = {
      OPENAI_API_KEY: "ok",
      ZAI_API_KEY: " zk\n",
      GROQ_API_KEY: "",
      OTHER_API_KEY: "x",
    };
    const found = environmentUpstreams(env);
    expect(
      found.map(({ name, speaks, apiKey, apiKeyVariable }) => [
        name,
        speaks,
        apiKey,
        apiKeyVariable,
      ]),
    ).toEqual([
      ["openai", "responses", "ok", "OPENAI_API_KEY"],
      ["zai", "chat", "zk", "ZAI_API_KEY"],
    ]);
    expect(found[1]?.profile).toEqual(profileNamed("glm"));
  });

  test("are not sent to OpenAI when they are for another server", () => {
    const env = { OPENAI_API_KEY: "local-key", OPENAI_BASE_URL: "http://127.0.0.1:8000/v1" };
    expect(environmentUpstreams(env)).toEqual([]);
    expect(
      environmentUpstreams({ ...env, OPENAI_BASE_URL: "https://api.openai.com/v1/" }),
    ).toHaveLength(1);
    const { config, source } = loadConfig({}, { ...world, env });
    expect(source).toEqual({ kind: "nothing" });
    expect(config.warnings).toEqual([
      "OPENAI_API_KEY is not used, for OPENAI_BASE_URL says that it is not for api.openai.com; to use it, name its server with --upstream URL --api-key-env OPENAI_API_KEY",
    ]);
  });
});

describe("a configuration", () => {
  const load = (flags: ConfigFlags = {}, env: World["env"] = {}) =>
    loadConfig(flags, { ...world, env });

  test("is the demo where there is nothing", () => {
    const { config, source } = load();
    expect(source).toEqual({ kind: "nothing" });
    expect(config.server).toMatchObject({ host: "127.0.0.1", port: 4141, demo: true });
  });

  test("comes from keys of the environment where there is no file and no flag", () => {
    const { config, source } = load({ port: "0" }, { ZAI_API_KEY: "zk", XAI_API_KEY: "xk" });
    expect(source).toEqual({ kind: "environment", variables: ["ZAI_API_KEY", "XAI_API_KEY"] });
    expect([...config.upstreams.keys()]).toEqual(["zai", "xai"]);
    expect(config.server).toMatchObject({ port: 0, demo: false });
  });

  test("comes from flags before the environment", () => {
    const env = { ZAI_API_KEY: "zk", MY_KEY: "mk" };
    const flags = { upstream: "http://localhost:8000/v1/", apiKeyEnv: "MY_KEY", profile: "vllm" };
    const { config, source } = load(flags, env);
    expect(source).toEqual({ kind: "flags" });
    expect([...config.upstreams.values()]).toEqual([
      {
        name: "local",
        baseUrl: "http://localhost:8000/v1",
        speaks: "chat",
        profile: profileNamed("vllm"),
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

  test("comes from the file before all, and flags add to it and win", () => {
    const local = '[upstreams.local]\nbase_url = "http://localhost:7777/v1"\nspeaks = "chat"\n';
    const path = write(join(world.cwd, "deltawire.toml"), `[server]\nport = 1\n${zai}${local}`);
    expect(load({}, { XAI_API_KEY: "xk" })).toMatchObject({ source: { kind: "file", path } });
    expect([...load({}, { XAI_API_KEY: "xk" }).config.upstreams.keys()]).toEqual(["zai", "local"]);
    const flags = {
      upstream: "http://localhost:8000/v1",
      speaks: "responses",
      port: "2",
      host: "::1",
    };
    const { config, source } = load(flags);
    expect(source).toEqual({ kind: "file", path });
    expect(config.server).toMatchObject({ host: "::1", port: 2 });
    expect([...config.upstreams.keys()]).toEqual(["zai", "local"]);
    expect(upstreamOf(config, "local")).toMatchObject({
      baseUrl: "http://localhost:8000/v1",
      speaks: "responses",
      profile: genericProfile,
    });
  });

  test("with a problem names the file as the user knows it", () => {
    write(join(world.cwd, "deltawire.toml"), "x = 1");
    expect(refusalOf(() => load()).message).toMatch(/^deltawire\.toml:1: x: /);
    const elsewhere = write(join(folder, "other.toml"), "x = 1");
    expect(refusalOf(() => load({ config: elsewhere })).message).toBe(
      `${elsewhere}:1: x: is no setting; known are server, clients, upstreams, models, agents, tools, mcp, chats, skills, store, model_providers`,
    );
  });

  test("has its paths seen from its own folder, and its instructions read", () => {
    const users = join(world.home, ".config", "deltawire");
    const toml = `[agents.a]
model = "demo/clean"
instructions_file = "a.md"
[tools.files]
folder = "~/notes"
[store]
path = "tasks.db"
`;
    write(join(users, "deltawire.toml"), toml);
    expect(refusalOf(() => load()).message).toBe(
      `${join(users, "deltawire.toml")}:3: agents.a.instructions_file: ${join(users, "a.md")} does not exist; give the path of a file, seen from the folder of the configuration`,
    );
    write(join(users, "a.md"), "# A\n");
    const { config } = load();
    expect(config.agents.get("a")?.instructions).toBe("# A\n");
    expect(config.tools.files?.folder).toBe(join(world.home, "notes"));
    expect(config.store.path).toBe(join(users, "tasks.db"));
    write(join(users, "deltawire.toml"), toml.replace("a.md", "."));
    expect(refusalOf(() => load()).message).toMatch(
      /instructions_file: .* is a folder; give the path of a file$/,
    );
  });

  test("that cannot be read is refused with the reason", () => {
    expect(refusalOf(() => load({ config: "." })).message).toMatch(
      /is a folder; give the path of a file$/,
    );
  });

  test("that leads to itself by a flag is refused", () => {
    expect(refusalOf(() => load({ upstream: "http://localhost:4141/v1" })).message).toMatch(
      /^--upstream: leads to this gateway itself, on port 4141/,
    );
    expect(load({ upstream: "http://localhost:4141/v1", port: "4142" }).source).toEqual({
      kind: "flags",
    });
  });

  test("that listens beyond this machine by a flag needs a token in a file", () => {
    const refusal = /^--host: listens beyond this machine.*set tokens/;
    expect(refusalOf(() => load({ host: "0.0.0.0" })).message).toMatch(refusal);
    write(join(world.cwd, "deltawire.toml"), '[server]\ntokens = ["0123456789abcdef"]');
    expect(load({ host: "0.0.0.0" }).config.server.host).toBe("0.0.0.0");
  });
});

describe("an upstream of the command line", () => {
  const nameOf = (upstream: string) => {
    const [name] = loadConfig({ upstream }, world).config.upstreams.keys();
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
  ])("%s is named %s", (url, name) => {
    expect(nameOf(url)).toBe(name);
  });

  test("whose key is not set, or goes out openly, is a warning", () => {
    const flags = { upstream: "http://api.example.org/v1", apiKeyEnv: "K" };
    expect(loadConfig(flags, world).config.warnings).toEqual([
      "--api-key-env: the environment variable K is not set; requests to example are refused until it is",
      "--upstream: sends the key over the network unencrypted; write https://",
    ]);
  });

  test.each([
    [
      { upstream: "localhost:8000" },
      "--upstream: is no web address; write https://HOST/PATH, or http:// for a local server",
    ],
    [
      { upstream: "https://x.org", speaks: "chta" },
      "--speaks: is no wire; write chat or responses: did you mean chat?",
    ],
    [
      { upstream: "https://x.org", speaks: "grpc" },
      "--speaks: is no wire; write chat or responses",
    ],
    [
      { upstream: "https://x.org", profile: "gml" },
      "--profile: is no known profile; did you mean glm?",
    ],
    [
      { upstream: "https://x.org", apiKeyEnv: "sk-1" },
      "--api-key-env: is no name of a variable; write the name, not the key itself",
    ],
    [{ speaks: "chat" }, "--speaks: says something of an upstream; give --upstream URL too"],
    [{ port: "80a" }, "--port: is no port; write a number from 0 to 65535"],
    [{ port: "70000" }, "--port: is no port; write a number from 0 to 65535"],
    [{ port: "" }, "--port: is no port; write a number from 0 to 65535"],
  ])("%j is refused", (flags, what) => {
    expect(refusalOf(() => loadConfig(flags, world)).problems).toEqual([what]);
  });
});
