import { providerProfileNames } from "@deltawire/wire";
import { parse } from "smol-toml";
import { describe, expect, test } from "vitest";
import { profileByHost, profileByLocalPort, detectProfile } from "../src/migrate/detect-profile.ts";
import {
  planMigration,
  type MigrationInput,
  type MigrationPlan,
} from "../src/migrate/plan-migration.ts";

function plan(codexText: string, overrides: Partial<MigrationInput> = {}): MigrationPlan {
  return planMigration({
    codexText,
    codexFile: "config.toml",
    gatewayText: undefined,
    gatewayFile: "deltawire.toml",
    port: 4141,
    env: {},
    ...overrides,
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
  test("is edited in place, and nothing else changes", () => {
    const migration = plan(`# Mine
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
    expect(migration.codexText).toBe(`# Mine
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
    expect(migration.gatewayText)
      .toBe(`# Created from a Codex configuration by the command \`migrate\`.

[upstreams.zai]
base_url = "https://api.z.ai/api/coding/paas/v4"
# See z.ai
api_key = "env:ZAI_API_KEY"
speaks = "chat"
profile = "glm"
idle_timeout_seconds = 600
models = ["glm-4.6"]
`);
    expect(migration).toMatchObject({ isEmpty: false, unsetVariables: ["ZAI_API_KEY"], notes: [] });
  });

  test("copies its timeout and retries to the gateway, and keeps them for Codex", () => {
    const fields =
      "stream_idle_timeout_ms = 1_500\nrequest_max_retries = 0\nstream_max_retries = 3\n";
    const migration = plan(provider(fields));
    expect(upstreams(migration)).toMatchObject({ zai: { idle_timeout_seconds: 1.5, retries: 0 } });
    expect(parse(migration.codexText)["model_providers"]).toMatchObject({
      zai: { stream_idle_timeout_ms: 1500, request_max_retries: 0, stream_max_retries: 3 },
    });
    expect(migration.notes).toEqual([]);
    const none = plan(provider(""));
    expect(none.gatewayText).not.toMatch(/retries|timeout/);
  });

  test("limits timeout and retries to the range of the gateway, with a note", () => {
    const migration = plan(provider("stream_idle_timeout_ms = 100\nrequest_max_retries = 100\n"));
    expect(upstreams(migration)).toMatchObject({ zai: { idle_timeout_seconds: 1, retries: 10 } });
    expect(migration.notes).toEqual([
      expect.stringMatching(
        /^stream_idle_timeout_ms of provider zai .*idle_timeout_seconds.* changed to 1\.$/,
      ),
      expect.stringMatching(
        /^request_max_retries of provider zai .*retries.*0 to 10.* changed to 10\.$/,
      ),
    ]);
  });

  test("keeps Windows line endings and a byte order mark", () => {
    const before = `\uFEFFmodel = "m"\nmodel_provider = "zai"\n${provider("")}`;
    const migration = plan(before.replaceAll("\n", "\r\n"));
    expect(migration.codexText).toBe(plan(before).codexText.replaceAll("\n", "\r\n"));
    expect(migration.codexText.startsWith("\uFEFFmodel")).toBe(true);
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
      "nested inline tables",
      `model_providers = { zai = { name = "Z", base_url = "https://api.z.ai/v4", wire_api = "chat", env_key = "K" } }`,
    ],
  ])("can have the provider as %s", (_, text) => {
    const migration = plan(text);
    expect(parse(migration.codexText)["model_providers"]).toEqual({ zai: atGateway });
    expect(upstreams(migration)).toEqual({
      zai: {
        base_url: "https://api.z.ai/v4",
        api_key: "env:K",
        speaks: "chat",
        profile: "glm",
      },
    });
  });

  test("prefixes the models of a migrated provider with the upstream, in profiles too", () => {
    const migration = plan(`model = "top"
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
    expect(parse(migration.codexText)).toMatchObject({
      model: "zai/top",
      review_model: "zai/critic",
      profiles: {
        same: { model: "zai/mine" },
        other: { model: "theirs", model_provider: "other" },
        // It used "top" from the top level, which is now "zai/top".
        inherits: { model: "top", model_provider: "other" },
        nothing: {},
      },
    });
    expect(upstreams(migration)).toMatchObject({ zai: { models: ["top", "critic", "mine"] } });
  });

  test("sets the model of a profile with its own provider and the top-level model", () => {
    const migration = plan(
      `model = "gpt-5"\n${provider("")}[profiles.z]\nmodel_provider = "zai"\n[profiles.y]\n`,
    );
    expect(parse(migration.codexText)).toMatchObject({
      model: "gpt-5",
      profiles: { z: { model_provider: "zai", model: "zai/gpt-5" }, y: {} },
    });
  });

  test("gets a note on choosing a model if it has none", () => {
    const migration = plan(`model_provider = "zai"\n${provider("")}`);
    expect(migration.notes).toEqual([expect.stringContaining('model = "zai/MODEL"')]);
    expect(migration.gatewayText).not.toContain("models");
  });

  test("that already points to this gateway gets no upstream, and its models keep their names", () => {
    const text = `model = "glm"\nmodel_provider = "dw"\n[model_providers.dw]\nname = "D"\nbase_url = "http://localhost:4141/v1"\nwire_api = "chat"\n`;
    const migration = plan(text);
    expect(migration.gatewayText).toBeUndefined();
    expect(parse(migration.codexText)).toEqual({
      model: "glm",
      model_provider: "dw",
      model_providers: { dw: { ...atGateway, name: "D" } },
    });
  });

  test("without base_url uses OpenAI, as in Codex", () => {
    const migration = plan('[model_providers.x]\nname = "X"\nwire_api = "chat"\n');
    expect(upstreams(migration)).toEqual({
      x: { base_url: "https://api.openai.com/v1", speaks: "chat", profile: "openai" },
    });
    expect(parse(migration.codexText)["model_providers"]).toEqual({
      x: { ...atGateway, name: "X" },
    });
  });

  test("renames a provider with a reserved name wherever it is used", () => {
    const migration = plan(`model = "qwen3"\nmodel_provider = "ollama"
[model_providers.ollama]\nname = "Ollama"\nbase_url = "http://localhost:11434/v1"\nwire_api = "chat"
[model_providers.ollama.query_params]\na = "b"
[profiles.p]\nmodel_provider = "ollama"\n`);
    expect(parse(migration.codexText)).toEqual({
      model: "ollama/qwen3",
      model_provider: "ollama-custom",
      model_providers: { "ollama-custom": { ...atGateway, name: "Ollama" } },
      profiles: { p: { model_provider: "ollama-custom" } },
    });
    expect(upstreams(migration)).toEqual({
      ollama: {
        base_url: "http://localhost:11434/v1",
        speaks: "chat",
        profile: "ollama",
        query: { a: "b" },
        models: ["qwen3"],
      },
    });
    expect(migration.notes).toEqual([expect.stringContaining("ollama-custom")]);
  });

  test("gets a name if it has none, which Codex requires", () => {
    const migration = plan(
      '[model_providers.x]\nwire_api = "chat"\nbase_url = "https://x.example"\n',
    );
    expect(parse(migration.codexText)["model_providers"]).toEqual({
      x: { ...atGateway, name: "x" },
    });
  });
});

describe("keys", () => {
  const migrateKey = (fields: string, env = {}) => {
    const migration = plan(provider(fields), { env });
    return { migration, upstream: Object(upstreams(migration)).zai };
  };

  test.each([
    ["a token", 'experimental_bearer_token = "verysecret"'],
    ["a header", 'http_headers = { Authorization = "Bearer verysecret" }'],
    [
      "a header in a table",
      '[model_providers.zai.http_headers]\nauthorization = "Bearer verysecret"',
    ],
    ["a key instead of a variable name", 'env_key = "sk-verysecret-1"'],
  ])("written as %s become a variable, and are not in any output", (_, fields) => {
    const { migration, upstream } = migrateKey(fields);
    expect(upstream).toEqual({
      base_url: "https://api.z.ai/v4",
      api_key: "env:ZAI_API_KEY",
      speaks: "chat",
      profile: "glm",
    });
    expect(JSON.stringify(migration)).not.toContain("verysecret");
    expect(migration.unsetVariables).toEqual(["ZAI_API_KEY"]);
    expect(migration.notes).toEqual([
      expect.stringMatching(
        /^Set the environment variable ZAI_API_KEY to the (?:secret|token) .* of provider zai, which was not copied\.$/,
      ),
    ]);
  });

  test("in other headers become separate variables; other headers are copied", () => {
    const { migration, upstream } = migrateKey(`env_key = "K"
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
    expect(JSON.stringify(migration)).not.toContain("verysecret");
    expect(migration.unsetVariables).toEqual(["K", "ZAI_X_API_KEY", "ZAI_X_ODD", "ORG"]);
  });

  test("that are already set need no note", () => {
    const env = { ZAI_API_KEY: "verysecret" };
    expect(migrateKey('experimental_bearer_token = "verysecret"', env).migration).toMatchObject({
      unsetVariables: [],
      notes: [],
    });
    expect(migrateKey('env_key = "ZAI_API_KEY"', env).migration.unsetVariables).toEqual([]);
  });

  test("get a name that no other provider uses", () => {
    const migration = plan(
      `${provider('experimental_bearer_token = "one"')}\n${provider('env_key = "ZAI_API_KEY"', "b")}`,
    );
    expect(upstreams(migration)).toMatchObject({
      zai: { api_key: "env:ZAI_API_KEY_2" },
      b: { api_key: "env:ZAI_API_KEY" },
    });
  });

  test("of the Codex login are not migrated", () => {
    const { migration, upstream } = migrateKey("requires_openai_auth = true");
    expect(upstream).toMatchObject({ api_key: "env:OPENAI_API_KEY" });
    expect(migration.codexText).not.toContain("requires_openai_auth");
  });
});

describe("deltawire.toml", () => {
  const codex = `model = "m"\nmodel_provider = "zai"\n${provider('env_key = "K"')}`;

  test("is extended at its end, with its line endings", () => {
    const gatewayText = "[server]\r\nport = 4141 # mine";
    const migration = plan(codex, { gatewayText });
    expect(migration.gatewayText?.startsWith(`${gatewayText}\r\n\r\n[upstreams.zai]\r\n`)).toBe(
      true,
    );
    expect(migration.gatewayText?.match(/(?<!\r)\n/)).toBeNull();
  });

  test("keeps an upstream with the same name and URL", () => {
    const gatewayText = '[upstreams.zai]\nbase_url = "https://API.z.ai/v4/"\nspeaks = "chat"\n';
    const migration = plan(codex, { gatewayText });
    expect(migration.gatewayText).toBe(gatewayText);
    expect(migration.codexText).toContain('model = "zai/m"');
    expect(migration.notes).toEqual([expect.stringContaining("it was not changed")]);
  });

  test("gets another name for another URL, which a second run finds again", () => {
    const gatewayText = '[upstreams.zai]\nbase_url = "https://other.example"\nspeaks = "chat"\n';
    const migration = plan(codex, { gatewayText });
    expect(upstreams(migration)).toMatchObject({
      zai: { base_url: "https://other.example" },
      "zai-2": { base_url: "https://api.z.ai/v4", models: ["m"] },
    });
    expect(migration.codexText).toContain('model = "zai-2/m"');
    const secondPlan = plan(codex, { gatewayText: migration.gatewayText });
    expect(secondPlan.gatewayText).toBe(migration.gatewayText);
    expect(secondPlan.codexText).toBe(migration.codexText);
  });

  test.each([
    ["demo", "demo-2"],
    ['"my models/v1"', "my-models-v1"],
  ])("has no upstream named %s, but %s", (id, name) => {
    const migration = plan(provider("", id));
    expect(Object.keys(Object(upstreams(migration)))).toEqual([name]);
    expect(migration.notes).toContainEqual(
      expect.stringMatching(
        `called ${name}, because .+ is already used or not allowed as a name in deltawire.toml`,
      ),
    );
  });

  test.each([
    ['[server]\ntokens = ["env:MY_TOKEN"]', "MY_TOKEN"],
    ['[clients.me]\ntoken = "env:MINE"', "MINE"],
    ['[server]\ntokens = ["written-down-1234"]', "DELTAWIRE_TOKEN"],
  ])("with a token makes Codex send it: %s", (gatewayText, variable) => {
    const migration = plan(codex, { gatewayText });
    const { experimental_bearer_token: _, ...rest } = atGateway;
    expect(parse(migration.codexText)["model_providers"]).toEqual({
      zai: { ...rest, env_key: variable },
    });
    expect(migration.notes).toContainEqual(expect.stringContaining(`set ${variable}`));
  });

  test("decides the URL of the gateway", () => {
    const address = (gatewayText: string) =>
      Object(parse(plan(codex, { gatewayText, port: 99 }).codexText)).model_providers.zai.base_url;
    expect(address('[server]\nhost = "0.0.0.0"\ntokens = ["env:T"]\n')).toBe(
      "http://127.0.0.1:99/v1",
    );
    expect(address('[server]\nhost = "10.1.2.3"\ntokens = ["env:T"]\n')).toBe(
      "http://10.1.2.3:99/v1",
    );
  });

  test("that would be invalid is not created", () => {
    expect(() => plan(provider('http_headers = { Host = "x" }'))).toThrow(
      /would be invalid:\ndeltawire\.toml:\d+: upstreams\.zai\.headers\.Host/,
    );
    expect(() =>
      plan(codex, {
        gatewayText: 'upstreams = { a = { base_url = "https://a.example", speaks = "chat" } }\n',
      }),
    ).toThrow(/would be invalid:\ndeltawire\.toml:\d/);
  });
});

describe("a configuration that cannot be migrated is an error with the line and without the value:", () => {
  test.each([
    ["invalid TOML", 'a = "verysecret\n', /^config\.toml:1:\d+: the string is not closed/],
    [
      "a wrong type",
      provider('http_headers = "verysecret"'),
      /^config\.toml:5: model_providers\.zai\.http_headers: has the wrong type/,
    ],
    [
      "a password in the URL",
      `model = "m"\n${provider("").replace("https://", "https://me:verysecret@")}`,
      /^config\.toml:4: model_providers\.zai\.base_url: must not contain a user name or password/,
    ],
    [
      "a key in the query",
      provider('query_params = { key = "verysecret" }'),
      /^config\.toml:5: .*query_params\.key: looks like a secret/,
    ],
    [
      "another kind of login",
      provider('[model_providers.zai.auth]\ncommand = "verysecret"'),
      /^config\.toml:5: .*auth: is not supported: only Codex can sign in this way/,
    ],
    [
      "what Codex rejects for another reason",
      `${provider("")}\n[model_providers.b]\nname = "B"\nwire_api = "grpc"\n`,
      /Codex would still reject this file: .*unknown variant `grpc`/,
    ],
    [
      "a missing provider",
      `model_provider = "gone"\n${provider("")}`,
      /Model provider `gone` not found/,
    ],
  ])("%s", (_, text, message) => {
    const planText = () => plan(text);
    expect(planText).toThrow(message);
    expect(planText).not.toThrow("verysecret");
  });
});

describe("nothing is changed", () => {
  test("without a provider that speaks chat", () => {
    const text = '# a\n[model_providers.x]\nname = "X"\nwire_api = "responses"\n';
    expect(plan(text)).toEqual({
      codexText: text,
      gatewayText: undefined,
      notes: [],
      unsetVariables: [],
      isEmpty: true,
    });
  });

  test("but outdated settings are mentioned", () => {
    const { notes } = plan(
      'profile = "p"\n[profiles.p]\n[model_providers.x]\nname = "X"\nbase_url = "https://x.example"\n',
    );
    expect(notes).toEqual([
      expect.stringContaining("model_providers.x has no wire_api"),
      expect.stringContaining("p.config.toml"),
    ]);
  });
});

test("a proxy that also applies to the gateway is a note", () => {
  const notes = (env: Record<string, string>) => plan(provider(""), { env }).notes;
  const proxied = [expect.stringContaining("NO_PROXY")];
  expect(notes({ HTTP_PROXY: "http://p" })).toEqual(proxied);
  expect(notes({ all_proxy: "http://p", NO_PROXY: "example.org" })).toEqual(proxied);
  expect(notes({ http_proxy: "http://p", NO_PROXY: "example.org, 127.0.0.1" })).toEqual([]);
  expect(notes({ http_proxy: "http://p", no_proxy: "*" })).toEqual([]);
  expect(notes({ https_proxy: "http://p" })).toEqual([]);
});

describe("the profile for a URL", () => {
  test.each([
    ["https://api.deepseek.com/v1", "deepseek"],
    ["https://mine.openai.azure.com/openai", "azure"],
    ["https://coding-intl.dashscope.aliyuncs.com/v1", "qwen"],
    ["http://localhost:1234/v1", "lm-studio"],
    ["http://localhost:8080/v1", undefined],
    ["https://api.deepseek.com.example.org", undefined],
    ["https://notopenrouter.ai", undefined],
  ])("%s is %s", (address, profile) => {
    expect(detectProfile(new URL(address))).toBe(profile);
  });

  test("is one that exists", () => {
    for (const profile of Object.values({ ...profileByHost, ...profileByLocalPort }))
      expect(providerProfileNames).toContain(profile);
  });
});
