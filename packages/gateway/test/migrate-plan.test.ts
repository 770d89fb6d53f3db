import { profileNames } from "@deltawire/wire";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { profileByHost, profileByLocalPort, profileOfAddress } from "../src/migrate/known-hosts.ts";
import { planMigration, type MigrationInput, type MigrationPlan } from "../src/migrate/plan.ts";

function plan(codexText: string, more: Partial<MigrationInput> = {}): MigrationPlan {
  return planMigration({
    codexText,
    codexFile: "config.toml",
    gatewayText: undefined,
    gatewayFile: "deltawire.toml",
    port: 4141,
    env: {},
    ...more,
  });
}

const provider = (fields: string, id = "zai") =>
  `[model_providers.${id}]\nname = "Z"\nbase_url = "https://api.z.ai/v4"\nwire_api = "chat"\n${fields}`;

function upstreams(plan: MigrationPlan): unknown {
  return parse(plan.gatewayText ?? "")["upstreams"];
}

const atGateway = {
  name: "Z",
  base_url: "http://127.0.0.1:4141/v1",
  wire_api: "responses",
  experimental_bearer_token: "local",
  model_catalog_url: "http://127.0.0.1:4141/v1/models",
};

describe("a configuration with wire_api = chat", () => {
  test("is changed in its place and in nothing else", () => {
    const made = plan(`# Mine
model = "glm-4.6"   # good
model_provider = 'zai'

[model_providers.zai]
  name = "Z.ai"
  base_url = "https://api.z.ai/api/coding/paas/v4/" # coding plan
  env_key = "ZAI_API_KEY"
  env_key_instructions = "See z.ai"
  wire_api = "chat"
  stream_idle_timeout_ms = 600_000

[mcp_servers.docs]
command = "docs" # not mine
`);
    expect(made.codexText).toBe(`# Mine
model = "zai/glm-4.6"   # good
model_provider = 'zai'

[model_providers.zai]
  name = "Z.ai"
  base_url = "http://127.0.0.1:4141/v1" # coding plan
  wire_api = "responses"
  experimental_bearer_token = "local"
  model_catalog_url = "http://127.0.0.1:4141/v1/models"
  stream_idle_timeout_ms = 600_000

[mcp_servers.docs]
command = "docs" # not mine
`);
    expect(made.gatewayText).toBe(`# Made from a Codex configuration by \`deltawire migrate\`.

[upstreams.zai]
base_url = "https://api.z.ai/api/coding/paas/v4"
# See z.ai
api_key = "env:ZAI_API_KEY"
speaks = "chat"
profile = "glm"
idle_timeout_seconds = 600
models = ["glm-4.6"]
`);
    expect(made).toMatchObject({ nothingToDo: false, unset: ["ZAI_API_KEY"], notes: [] });
  });

  test("gives the gateway its timeout and retries, and leaves Codex's as they are", () => {
    const fields =
      "stream_idle_timeout_ms = 1_500\nrequest_max_retries = 0\nstream_max_retries = 3\n";
    const made = plan(provider(fields));
    expect(upstreams(made)).toMatchObject({ zai: { idle_timeout_seconds: 1.5, retries: 0 } });
    expect(parse(made.codexText)["model_providers"]).toMatchObject({
      zai: { stream_idle_timeout_ms: 1500, request_max_retries: 0, stream_max_retries: 3 },
    });
    expect(made.notes).toEqual([]);
    const none = plan(provider(""));
    expect(none.gatewayText).not.toMatch(/retries|timeout/);
  });

  test("gives the gateway the nearest timeout and number of retries that it allows, and says so", () => {
    const made = plan(provider("stream_idle_timeout_ms = 100\nrequest_max_retries = 100\n"));
    expect(upstreams(made)).toMatchObject({ zai: { idle_timeout_seconds: 1, retries: 10 } });
    expect(made.notes).toEqual([
      expect.stringMatching(/^stream_idle_timeout_ms of zai .*idle_timeout_seconds.* becomes 1\.$/),
      expect.stringMatching(/^request_max_retries of zai .*retries.*0 to 10.* becomes 10\.$/),
    ]);
  });

  test("keeps the line ends of Windows and a byte order mark", () => {
    const before = `\uFEFFmodel = "m"\nmodel_provider = "zai"\n${provider("")}`;
    const made = plan(before.replaceAll("\n", "\r\n"));
    expect(made.codexText).toBe(plan(before).codexText.replaceAll("\n", "\r\n"));
    expect(made.codexText.startsWith("\uFEFFmodel")).toBe(true);
  });

  test.each([
    ["a table", provider('env_key = "K"\n')],
    [
      "dotted keys",
      `model_providers.zai.name = "Z"
model_providers.zai.env_key = "K"
model_providers."zai".wire_api = "chat"
model_providers.zai.base_url = "https://api.z.ai/v4"
`,
    ],
    [
      "dotted keys in a table",
      `[model_providers]
zai.wire_api = "chat"
zai.name = "Z"
zai.env_key = "K"
zai.base_url = "https://api.z.ai/v4"
`,
    ],
    [
      "an inline table",
      `[model_providers]
zai = { env_key = "K", name = "Z", wire_api = "chat", base_url = "https://api.z.ai/v4" }
`,
    ],
    [
      "inline tables in each other",
      `model_providers = { zai = { name = "Z", base_url = "https://api.z.ai/v4", wire_api = "chat", env_key = "K" } }`,
    ],
  ])("may have the provider as %s", (_, text) => {
    const made = plan(text);
    expect(parse(made.codexText)["model_providers"]).toEqual({ zai: atGateway });
    expect(upstreams(made)).toEqual({
      zai: {
        base_url: "https://api.z.ai/v4",
        api_key: "env:K",
        speaks: "chat",
        profile: "glm",
      },
    });
  });

  test("gives every model of a moved provider the upstream's name, in profiles too", () => {
    const made = plan(`model = "top"
model_provider = "zai"
review_model = "critic"
${provider("")}
[model_providers.other]
name = "O"
base_url = "https://other.example/v1"
wire_api = "responses"
[profiles.same]
model = "mine"
[profiles.other]
model = "theirs"
model_provider = "other"
[profiles.inherits]
model_provider = "other"
[profiles.nothing]
`);
    expect(parse(made.codexText)).toMatchObject({
      model: "zai/top",
      review_model: "zai/critic",
      profiles: {
        same: { model: "zai/mine" },
        other: { model: "theirs", model_provider: "other" },
        // It had "top" from the top level, where "zai/top" stands now.
        inherits: { model: "top", model_provider: "other" },
        nothing: {},
      },
    });
    expect(upstreams(made)).toMatchObject({ zai: { models: ["top", "critic", "mine"] } });
  });

  test("moves a model that a profile takes from another provider's top level", () => {
    const made = plan(
      `model = "gpt-5"\n${provider("")}[profiles.z]\nmodel_provider = "zai"\n[profiles.y]\n`,
    );
    expect(parse(made.codexText)).toMatchObject({
      model: "gpt-5",
      profiles: { z: { model_provider: "zai", model: "zai/gpt-5" }, y: {} },
    });
  });

  test("is told how to choose a model when it has none", () => {
    const made = plan(`model_provider = "zai"\n${provider("")}`);
    expect(made.notes).toEqual([expect.stringContaining('model = "zai/MODEL"')]);
    expect(made.gatewayText).not.toContain("models");
  });

  test("that led to this gateway before gets no upstream, and its models keep their names", () => {
    const text = `model = "glm"\nmodel_provider = "dw"\n[model_providers.dw]\nname = "D"\nbase_url = "http://localhost:4141/v1"\nwire_api = "chat"\n`;
    const made = plan(text);
    expect(made.gatewayText).toBeUndefined();
    expect(parse(made.codexText)).toEqual({
      model: "glm",
      model_provider: "dw",
      model_providers: { dw: { ...atGateway, name: "D" } },
    });
  });

  test("without an address goes to OpenAI, as Codex did", () => {
    const made = plan('[model_providers.x]\nname = "X"\nwire_api = "chat"\n');
    expect(upstreams(made)).toEqual({
      x: { base_url: "https://api.openai.com/v1", speaks: "chat", profile: "openai" },
    });
    expect(parse(made.codexText)["model_providers"]).toEqual({ x: { ...atGateway, name: "X" } });
  });

  test("gives a provider of a reserved name another one, and those who use it follow", () => {
    const made = plan(`model = "qwen3"\nmodel_provider = "ollama"
[model_providers.ollama]\nname = "Ollama"\nbase_url = "http://localhost:11434/v1"\nwire_api = "chat"
[model_providers.ollama.query_params]\na = "b"
[profiles.p]\nmodel_provider = "ollama"\n`);
    expect(parse(made.codexText)).toEqual({
      model: "ollama/qwen3",
      model_provider: "ollama-custom",
      model_providers: { "ollama-custom": { ...atGateway, name: "Ollama" } },
      profiles: { p: { model_provider: "ollama-custom" } },
    });
    expect(upstreams(made)).toEqual({
      ollama: {
        base_url: "http://localhost:11434/v1",
        speaks: "chat",
        profile: "ollama",
        query: { a: "b" },
        models: ["qwen3"],
      },
    });
    expect(made.notes).toEqual([expect.stringContaining("ollama-custom")]);
  });

  test("is named where it has no name, which Codex asks for", () => {
    const made = plan('[model_providers.x]\nwire_api = "chat"\nbase_url = "https://x.example"\n');
    expect(parse(made.codexText)["model_providers"]).toEqual({ x: { ...atGateway, name: "x" } });
  });
});

describe("keys", () => {
  const moved = (fields: string, env = {}) => {
    const made = plan(provider(fields), { env });
    return { made, upstream: Object(upstreams(made)).zai };
  };

  test.each([
    ["a token", 'experimental_bearer_token = "verysecret"'],
    ["a header", 'http_headers = { Authorization = "Bearer verysecret" }'],
    [
      "a header in a table",
      '[model_providers.zai.http_headers]\nauthorization = "Bearer verysecret"',
    ],
    ["a key where the name of a variable belongs", 'env_key = "sk-verysecret-1"'],
  ])("written down as %s become a variable, and are nowhere", (_, fields) => {
    const { made, upstream } = moved(fields);
    expect(upstream).toEqual({
      base_url: "https://api.z.ai/v4",
      api_key: "env:ZAI_API_KEY",
      speaks: "chat",
      profile: "glm",
    });
    expect(JSON.stringify(made)).not.toContain("verysecret");
    expect(made.unset).toEqual(["ZAI_API_KEY"]);
    expect(made.notes).toEqual([expect.stringMatching(/^ZAI_API_KEY is new: set it/)]);
  });

  test("in other headers become variables of their own; plain headers stay", () => {
    const { made, upstream } = moved(`env_key = "K"
http_headers = { "X-Api-Key" = "verysecret", "X-Title" = "me", "X-Odd" = "sk-verysecret9" }
env_http_headers = { "X-Org" = "ORG", "Authorization" = "OTHER" }`);
    expect(upstream).toMatchObject({
      api_key: "env:K",
      headers: {
        "X-Api-Key": "env:ZAI_X_API_KEY",
        "X-Title": "me",
        "X-Odd": "env:ZAI_X_ODD",
        "X-Org": "env:ORG",
      },
    });
    expect(JSON.stringify(made)).not.toContain("verysecret");
    expect(made.unset).toEqual(["K", "ZAI_X_API_KEY", "ZAI_X_ODD", "ORG"]);
  });

  test("that are set already need no word", () => {
    const env = { ZAI_API_KEY: "verysecret" };
    expect(moved('experimental_bearer_token = "verysecret"', env).made).toMatchObject({
      unset: [],
      notes: [],
    });
    expect(moved('env_key = "ZAI_API_KEY"', env).made.unset).toEqual([]);
  });

  test("get a name that no other provider uses", () => {
    const made = plan(
      `${provider('experimental_bearer_token = "one"')}\n${provider('env_key = "ZAI_API_KEY"', "b")}`,
    );
    expect(upstreams(made)).toMatchObject({
      zai: { api_key: "env:ZAI_API_KEY_2" },
      b: { api_key: "env:ZAI_API_KEY" },
    });
  });

  test("of Codex's own login do not move", () => {
    const { made, upstream } = moved("requires_openai_auth = true");
    expect(upstream).toMatchObject({ api_key: "env:OPENAI_API_KEY" });
    expect(made.codexText).not.toContain("requires_openai_auth");
  });
});

describe("deltawire.toml", () => {
  const codex = `model = "m"\nmodel_provider = "zai"\n${provider('env_key = "K"')}`;

  test("is added to at its end, in its line ends", () => {
    const gatewayText = "[server]\r\nport = 4141 # mine";
    const made = plan(codex, { gatewayText });
    expect(made.gatewayText?.startsWith(`${gatewayText}\r\n\r\n[upstreams.zai]\r\n`)).toBe(true);
    expect(made.gatewayText?.match(/(?<!\r)\n/)).toBeNull();
  });

  test("keeps an upstream of that name with the same address", () => {
    const gatewayText = '[upstreams.zai]\nbase_url = "https://API.z.ai/v4/"\nspeaks = "chat"\n';
    const made = plan(codex, { gatewayText });
    expect(made.gatewayText).toBe(gatewayText);
    expect(made.codexText).toContain('model = "zai/m"');
    expect(made.notes).toEqual([expect.stringContaining("left as it is")]);
  });

  test("gets another name beside one with another address, and finds it again", () => {
    const gatewayText = '[upstreams.zai]\nbase_url = "https://other.example"\nspeaks = "chat"\n';
    const made = plan(codex, { gatewayText });
    expect(upstreams(made)).toMatchObject({
      zai: { base_url: "https://other.example" },
      "zai-2": { base_url: "https://api.z.ai/v4", models: ["m"] },
    });
    expect(made.codexText).toContain('model = "zai-2/m"');
    const again = plan(codex, { gatewayText: made.gatewayText });
    expect(again.gatewayText).toBe(made.gatewayText);
    expect(again.codexText).toBe(made.codexText);
  });

  test.each([
    ["demo", "demo-2"],
    ['"my models/v1"', "my-models-v1"],
  ])("has no upstream named %s, but %s", (id, name) => {
    expect(Object.keys(Object(upstreams(plan(provider("", id)))))).toEqual([name]);
  });

  test.each([
    ['[server]\ntokens = ["env:MY_TOKEN"]', "MY_TOKEN"],
    ['[clients.me]\ntoken = "env:MINE"', "MINE"],
    ['[server]\ntokens = ["written-down-1234"]', "DELTAWIRE_TOKEN"],
  ])("with a token has Codex send it: %s", (gatewayText, variable) => {
    const made = plan(codex, { gatewayText });
    const { experimental_bearer_token: _, ...rest } = atGateway;
    expect(parse(made.codexText)["model_providers"]).toEqual({
      zai: { ...rest, env_key: variable },
    });
    expect(made.notes).toContainEqual(expect.stringContaining(`set ${variable}`));
  });

  test("says where the gateway is reached", () => {
    const address = (gatewayText: string) =>
      Object(parse(plan(codex, { gatewayText, port: 99 }).codexText)).model_providers.zai.base_url;
    expect(address('[server]\nhost = "0.0.0.0"\ntokens = ["env:T"]\n')).toBe(
      "http://127.0.0.1:99/v1",
    );
    expect(address('[server]\nhost = "10.1.2.3"\ntokens = ["env:T"]\n')).toBe(
      "http://10.1.2.3:99/v1",
    );
  });

  test("that could not be used is not made", () => {
    expect(() => plan(provider('http_headers = { Host = "x" }'))).toThrow(
      /cannot be used:\ndeltawire\.toml:\d+: upstreams\.zai\.headers\.Host/,
    );
    expect(() =>
      plan(codex, {
        gatewayText: 'upstreams = { a = { base_url = "https://a.example", speaks = "chat" } }\n',
      }),
    ).toThrow(/cannot be used:\ndeltawire\.toml:\d/);
  });
});

describe("what cannot be migrated is refused with its line and without its value:", () => {
  test.each([
    ["no TOML", 'a = "verysecret\n', /^config\.toml:1:\d+: the text is not closed/],
    [
      "a wrong type",
      provider('http_headers = "verysecret"'),
      /^config\.toml:5: model_providers\.zai\.http_headers: has the wrong type/,
    ],
    [
      "a password in the address",
      `model = "m"\n${provider("").replace("https://", "https://me:verysecret@")}`,
      /^config\.toml:4: model_providers\.zai\.base_url: has a user or password/,
    ],
    [
      "a key in the query",
      provider('query_params = { key = "verysecret" }'),
      /^config\.toml:5: .*query_params\.key: looks like a secret/,
    ],
    [
      "a login of another kind",
      provider('[model_providers.zai.auth]\ncommand = "verysecret"'),
      /^config\.toml:5: .*auth: is a way to sign in/,
    ],
    [
      "what Codex refuses for another reason",
      `${provider("")}\n[model_providers.b]\nname = "B"\nwire_api = "grpc"\n`,
      /Codex would refuse it all the same: .*unknown variant `grpc`/,
    ],
    [
      "a provider that is not there",
      `model_provider = "gone"\n${provider("")}`,
      /Model provider `gone` not found/,
    ],
  ])("%s", (_, text, message) => {
    const refusal = () => plan(text);
    expect(refusal).toThrow(message);
    expect(refusal).not.toThrow("verysecret");
  });
});

describe("nothing is done", () => {
  test("without a provider that speaks chat", () => {
    const text = '# a\n[model_providers.x]\nname = "X"\nwire_api = "responses"\n';
    expect(plan(text)).toEqual({
      codexText: text,
      gatewayText: undefined,
      notes: [],
      unset: [],
      nothingToDo: true,
    });
  });

  test("but what an old configuration may mean is said", () => {
    const { notes } = plan(
      'profile = "p"\n[profiles.p]\n[model_providers.x]\nname = "X"\nbase_url = "https://x.example"\n',
    );
    expect(notes).toEqual([
      expect.stringContaining("model_providers.x has no wire_api"),
      expect.stringContaining("p.config.toml"),
    ]);
  });
});

test("a proxy that would be asked for the gateway is a note", () => {
  const notes = (env: Record<string, string>) => plan(provider(""), { env }).notes;
  const proxied = [expect.stringContaining("NO_PROXY")];
  expect(notes({ HTTP_PROXY: "http://p" })).toEqual(proxied);
  expect(notes({ all_proxy: "http://p", NO_PROXY: "example.org" })).toEqual(proxied);
  expect(notes({ http_proxy: "http://p", NO_PROXY: "example.org, 127.0.0.1" })).toEqual([]);
  expect(notes({ http_proxy: "http://p", no_proxy: "*" })).toEqual([]);
  expect(notes({ https_proxy: "http://p" })).toEqual([]);
});

describe("whose server stands at an address", () => {
  test.each([
    ["https://api.deepseek.com/v1", "deepseek"],
    ["https://mine.openai.azure.com/openai", "azure"],
    ["https://coding-intl.dashscope.aliyuncs.com/v1", "qwen"],
    ["http://localhost:1234/v1", "lm-studio"],
    ["http://localhost:8080/v1", undefined],
    ["https://api.deepseek.com.example.org", undefined],
    ["https://notopenrouter.ai", undefined],
  ])("%s: %s", (address, profile) => {
    expect(profileOfAddress(new URL(address))).toBe(profile);
  });

  test("has a profile that there is", () => {
    for (const profile of Object.values({ ...profileByHost, ...profileByLocalPort }))
      expect(profileNames).toContain(profile);
  });
});
