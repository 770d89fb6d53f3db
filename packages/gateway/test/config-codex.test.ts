import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { genericProfile, findProviderProfile } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { listProblems, parseToml, getUpstream, zaiToml } from "./config-fixture.ts";
import { sharedData } from "../../../test/shared-data.ts";

const azure = '[model_providers.azure]\nname = "Azure"\nbase_url = "https://example.org/openai"\n';

describe("a provider of a Codex configuration", () => {
  test("becomes an upstream that speaks responses", () => {
    const toml = `${azure}env_key = "AZURE_KEY"
query_params = { api-version = "2025-04-01-preview" }
http_headers = { X-Team = "tools" }
env_http_headers = { X-Secret = "TEAM_SECRET" }
request_max_retries = 4
stream_idle_timeout_ms = 300_500
`;
    const config = parseToml(toml, { AZURE_KEY: "ak", TEAM_SECRET: "ts" });
    expect(getUpstream(config, "azure")).toEqual({
      name: "azure",
      messagesFlags: {},
      baseUrl: "https://example.org/openai",
      speaks: "responses",
      detectsApi: false,
      profile: genericProfile,
      apiKey: "ak",
      apiKeyVariable: "AZURE_KEY",
      apiKeyHeader: "authorization",
      headers: { "x-team": "tools", "x-secret": "ts" },
      query: { "api-version": "2025-04-01-preview" },
      models: undefined,
      connectTimeoutMs: 10_000,
      idleTimeoutMs: 300_500,
      retries: 4,
    });
    expect(config.warnings).toEqual([]);
    expect(config.server.demo).toBe(false);
  });

  test("can be combined with [upstreams], but needs a different name", () => {
    expect([...parseToml(`${zaiToml}${azure}`).upstreams.keys()]).toEqual(["zai", "azure"]);
    expect(listProblems(`${zaiToml}${azure.replace("azure", "zai")}`)).toEqual([
      "d.toml:4: model_providers.zai: has the same name as upstreams.zai; rename one of them",
    ]);
    expect(listProblems(azure.replace("azure", '"a b"'))).toHaveLength(1);
  });

  test("can be used in [models]", () => {
    expect(parseToml(`[models]\na = "azure/gpt"\n${azure}`).models.get("a")?.targets).toEqual([
      { upstream: "azure", model: "gpt" },
    ]);
  });

  test("is a warning if its key or header is not set", () => {
    const config = parseToml(`${azure}env_key = "K"\nenv_http_headers = { x-a = "H" }`);
    expect(getUpstream(config, "azure")).toMatchObject({
      apiKey: undefined,
      apiKeyVariable: "K",
      headers: {},
    });
    expect(config.warnings).toEqual([
      "d.toml:4: model_providers.azure.env_key: the environment variable K is not set; requests to azure fail until it is set",
      "d.toml:5: model_providers.azure.env_http_headers.x-a: the environment variable H is not set; the header is not sent",
    ]);
  });

  test("has the limits of its settings, within the range of the gateway", () => {
    const toml = `${azure}request_max_retries = 100\nstream_idle_timeout_ms = 5`;
    expect(getUpstream(parseToml(toml), "azure")).toMatchObject({
      retries: 10,
      idleTimeoutMs: 1000,
    });
  });

  test("can have a literal token; a variable that is set takes precedence", () => {
    const both = `${azure}env_key = "K"\nexperimental_bearer_token = "written"`;
    expect(getUpstream(parseToml(both, { K: "k" }), "azure").apiKey).toBe("k");
    expect(getUpstream(parseToml(both), "azure")).toMatchObject({
      apiKey: "written",
      apiKeyVariable: undefined,
    });
    expect(parseToml(both).warnings).toEqual([]);
  });

  test("with a key instead of a variable name is an error that does not quote the key", () => {
    const keys = ["sk-314159265358979", "gsk_Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1"];
    for (const key of keys) {
      expect(
        listProblems(`${azure}env_key = "${key}"\nenv_http_headers = { x-a = "${key}" }`),
      ).toEqual([
        "d.toml:4: model_providers.azure.env_key: must be the name of an environment variable, not the key itself",
        "d.toml:5: model_providers.azure.env_http_headers.x-a: must be the name of an environment variable, not the key itself",
      ]);
    }
    expect(listProblems(`${azure}experimental_bearer_token = "sk-3\\u000114"`)).toEqual([
      "d.toml:4: model_providers.azure.experimental_bearer_token: contains a character that is not allowed in a header; copy it again, without line breaks",
    ]);
  });

  test("without base_url uses OpenAI, as in Codex", () => {
    const config = parseToml('[model_providers.mine]\nname = "Mine"\nenv_key = "K"', { K: "k" });
    expect(getUpstream(config, "mine")).toMatchObject({
      baseUrl: "https://api.openai.com/v1",
      profile: findProviderProfile("openai"),
    });
  });

  test.each([
    'auth = { command = "token" }',
    "requires_openai_auth = true",
    "aws = { profile = 'x' }",
  ])("that only Codex can sign in to is skipped with a warning: %s", (line) => {
    const config = parseToml(`${azure}${line}`);
    expect(config.upstreams.size).toBe(0);
    expect(config.warnings).toEqual([
      "d.toml:1: model_providers.azure: skipped: only Codex itself can sign in to this provider",
    ]);
  });

  test("that is built into Codex for AWS is skipped too", () => {
    const config = parseToml(
      '[model_providers.amazon-bedrock]\nbase_url = "https://aws.example.org"',
    );
    expect(config.upstreams.size).toBe(0);
    expect(config.warnings).toHaveLength(1);
  });

  test.each(["localhost", "127.0.0.1", "[::1]", "0.0.0.0"])(
    "that points to this gateway at %s is an error",
    (host) => {
      const toml = azure.replace("https://example.org/openai", `http://${host}:4141/v1`);
      expect(listProblems(toml)).toEqual([
        "d.toml:3: model_providers.azure.base_url: points to this gateway itself, on port 4141; use the address of the model provider, or remove the upstream",
      ]);
      expect(parseToml(toml, {}, { port: 4142 }).upstreams.size).toBe(1);
      expect(listProblems(toml.replace("4141", "5000"), {}, { port: 5000 })).toHaveLength(1);
    },
  );

  test("has its base_url checked like that of an upstream", () => {
    expect(listProblems(azure.replace("https://", "https://u:p@"))).toEqual([
      "d.toml:3: model_providers.azure.base_url: must not contain a user name or password; set api_key instead",
    ]);
    expect(listProblems(`${azure}http_headers = { host = "x", a = "\\n" }`)).toHaveLength(2);
  });
});

describe("what Codex rejects", () => {
  const chatIsRemoved = [
    '`wire_api = "chat"` is no longer supported.',
    'How to fix: set `wire_api = "responses"` in your provider config.',
    "More info: https://github.com/openai/codex/discussions/7782",
  ].join("\n");

  test("is an error with its message and a solution, for example wire_api = chat", () => {
    expect(listProblems(`${azure}wire_api = "chat"`)).toEqual([
      `d.toml:4: model_providers.azure.wire_api: Codex no longer supports Chat; write [upstreams.azure] with speaks = "chat" instead. Codex's error:\nError loading config.toml: ${chatIsRemoved}\nin \`model_providers.azure.wire_api\``,
    ]);
  });

  const seeds = sharedData("seeds");
  test.skipIf(seeds.isMissing)(
    "is an error with the message that document 000 of the shared data quotes",
    () => {
      const file = readdirSync(seeds.path).find((name) => name.startsWith("000")) ?? "";
      const page = readFileSync(join(seeds.path, file), "utf8").replaceAll('\\"', '"');
      const [problem = ""] = listProblems(`${azure}wire_api = "chat"`);
      const missing = chatIsRemoved
        .split("\n")
        .filter((line) => !page.includes(line) || !problem.includes(line));
      expect(missing).toEqual([]);
    },
  );

  test("is reported for every provider, not only the first", () => {
    const toml = `${azure}wire_api = "chat"\n${azure.replace("azure", "other")}wire_api = "chat"\n${zaiToml}retries = "x"`;
    expect(listProblems(toml).map((problem) => problem.split(": ", 2).join(": "))).toEqual([
      "d.toml:4: model_providers.azure.wire_api",
      "d.toml:8: model_providers.other.wire_api",
      "d.toml:12: upstreams.zai.retries",
    ]);
  });

  test.each([
    [
      "[model_providers.openai]\nname = 'x'",
      "d.toml:1: model_providers.openai: ",
      "reserved built-in provider IDs: `openai`",
    ],
    [
      "[model_providers.a]\nbase_url = 'https://x.org'",
      "d.toml:1: model_providers.a: ",
      "provider name must not be empty",
    ],
    [
      `${azure}query_params = { a = 1 }`,
      "d.toml:4: model_providers.azure.query_params: ",
      "invalid type: integer `1`, expected a string",
    ],
    [
      "model_providers = 3",
      "d.toml:1: model_providers: ",
      "invalid type: integer `3`, expected a map",
    ],
    ["model_provider = 'nope'", "d.toml:1: model_provider: ", "Model provider `nope` not found"],
  ])("%j is an error", (toml, location, message) => {
    const [problem, ...others] = listProblems(toml);
    expect(others).toEqual([]);
    expect(problem?.startsWith(location)).toBe(true);
    expect(problem).toContain(message);
  });

  test("is reported without strings that may be keys", () => {
    const [problem = ""] = listProblems(`${azure}http_headers = "Bearer sk-\\"314159"`);
    expect(problem).toContain("invalid type: string, expected a map");
    expect(problem).not.toContain("314159");
  });

  test("is an error, but what Codex ignores is a warning", () => {
    expect(parseToml(`${azure}wire-api = "chat"`).warnings).toEqual([
      "d.toml:1: model_providers: Codex is ignoring 1 unrecognized configuration setting. Check for typos or deprecated settings.\n  user (d.toml): `model_providers.azure.wire-api` is ignored.",
    ]);
  });
});

describe("a complete config.toml of Codex", () => {
  const codex = `model = "gpt-5"
model_provider = "azure"
approval_policy = "never"
[profiles.fast]
model = "gpt-5-mini"
[mcp_servers.docs]
command = "docs"
[features]
plugins = false
${azure}`;

  test("is read, and other settings of Codex are ignored", () => {
    const config = parseToml(codex);
    expect([...config.upstreams.keys()]).toEqual(["azure"]);
    expect(config.warnings).toEqual([]);
    expect(parseToml('model_provider = "openai"\nmodel = "gpt-5"').server.demo).toBe(true);
  });

  test("can have agents and tools of Codex, which are ignored, and of the gateway", () => {
    const codexSettings = `${codex}[tools]
web_search = true
view_image = { size = 3 }
[agents]
max_threads = 4
[agents.explorer]
description = "Explores."
config_file = "explorer.toml"
`;
    expect(parseToml(codexSettings)).toMatchObject({ agents: new Map(), warnings: [] });
    const both = `${codexSettings}[agents.mine]\nmodel = "azure/gpt"\n[tools.web]\nmax_kb = 1\n`;
    expect([...parseToml(both).agents.keys()]).toEqual(["mine"]);
    expect(parseToml(both).tools.web.maxBytes).toBe(1024);
    expect(
      listProblems(`${codexSettings}[agents.mine]\neffort = "low"\n[tools.web]\nmaxkb = 1\n`),
    ).toEqual([
      'd.toml:21: agents.mine.model: missing; write model = "upstream/model", or a name from [models]',
      "d.toml:24: unknown setting tools.web.maxkb (did you mean max_kb?)",
    ]);
    expect(parseToml(`tools = 1\nagents = []\n${codex}`).warnings).toEqual([]);
  });

  test("can have skills of Codex, which are ignored", () => {
    const codexSettings = `${codex}[skills]\nbundled = { enabled = true }\n[[skills.config]]\npath = "x"\n`;
    expect(parseToml(codexSettings)).toMatchObject({ skills: new Map(), warnings: [] });
    const ours = `${codexSettings}[skills.mine]\nfile = "mine.md"\nalways = true\n`;
    expect([...parseToml(ours).skills.keys()]).toEqual(["mine"]);
  });

  test("still has its gateway settings checked; a misspelled table is a warning", () => {
    expect(listProblems(`${codex}[server]\nprot = 1`)).toHaveLength(1);
    expect(parseToml(`${codex}[upstream.a]\nspeaks = "chat"`).warnings).toEqual([
      "d.toml:13: upstream: ignored (did you mean upstreams?)",
    ]);
  });

  test("is an exception: in other files an unknown setting is an error", () => {
    expect(listProblems('approval_policy = "never"')).toHaveLength(1);
  });
});
