import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { genericProfile, profileNamed } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { problemsIn, read, upstreamOf, zai } from "./reading-config.ts";
import { sharedData } from "../../../test/shared-data.ts";

const azure = '[model_providers.azure]\nname = "Azure"\nbase_url = "https://example.org/openai"\n';

describe("a provider of a Codex configuration", () => {
  test("is an upstream that speaks responses", () => {
    const toml = `${azure}env_key = "AZURE_KEY"
query_params = { api-version = "2025-04-01-preview" }
http_headers = { X-Team = "tools" }
env_http_headers = { X-Secret = "TEAM_SECRET" }
request_max_retries = 4
stream_idle_timeout_ms = 300_500
`;
    const config = read(toml, { AZURE_KEY: "ak", TEAM_SECRET: "ts" });
    expect(upstreamOf(config, "azure")).toEqual({
      name: "azure",
      baseUrl: "https://example.org/openai",
      speaks: "responses",
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

  test("stands beside upstreams of ours, under a name of its own", () => {
    expect([...read(`${zai}${azure}`).upstreams.keys()]).toEqual(["zai", "azure"]);
    expect(problemsIn(`${zai}${azure.replace("azure", "zai")}`)).toEqual([
      "d.toml:4: model_providers.zai: is there as upstreams.zai too; rename one of the two",
    ]);
    expect(problemsIn(azure.replace("azure", '"a b"'))).toHaveLength(1);
  });

  test("may be named in [models]", () => {
    expect(read(`[models]\na = "azure/gpt"\n${azure}`).models.get("a")?.targets).toEqual([
      { upstream: "azure", model: "gpt" },
    ]);
  });

  test("whose key or header is not set is a warning", () => {
    const config = read(`${azure}env_key = "K"\nenv_http_headers = { x-a = "H" }`);
    expect(upstreamOf(config, "azure")).toMatchObject({
      apiKey: undefined,
      apiKeyVariable: "K",
      headers: {},
    });
    expect(config.warnings).toEqual([
      "d.toml:4: model_providers.azure.env_key: the environment variable K is not set; requests to azure are refused until it is",
      "d.toml:5: model_providers.azure.env_http_headers.x-a: the environment variable H is not set; the header is not sent",
    ]);
  });

  test("has limits as in Codex, but within ours", () => {
    const toml = `${azure}request_max_retries = 100\nstream_idle_timeout_ms = 5`;
    expect(upstreamOf(read(toml), "azure")).toMatchObject({ retries: 10, idleTimeoutMs: 1000 });
  });

  test("may have its token written down; a variable that is set comes first", () => {
    const both = `${azure}env_key = "K"\nexperimental_bearer_token = "written"`;
    expect(upstreamOf(read(both, { K: "k" }), "azure").apiKey).toBe("k");
    expect(upstreamOf(read(both), "azure")).toMatchObject({
      apiKey: "written",
      apiKeyVariable: undefined,
    });
    expect(read(both).warnings).toEqual([]);
  });

  test("with a key where the name of a variable belongs is refused without a word of the key", () => {
    const keys = ["sk-314159265358979", "gsk_Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1Ab1"];
    for (const key of keys) {
      expect(
        problemsIn(`${azure}env_key = "${key}"\nenv_http_headers = { x-a = "${key}" }`),
      ).toEqual([
        "d.toml:4: model_providers.azure.env_key: is no name of a variable; write the name, not the key itself",
        "d.toml:5: model_providers.azure.env_http_headers.x-a: is no name of a variable; write the name, not the key itself",
      ]);
    }
    expect(problemsIn(`${azure}experimental_bearer_token = "sk-3\\u000114"`)).toEqual([
      "d.toml:4: model_providers.azure.experimental_bearer_token: has a character that no header can carry; copy it again, without line ends",
    ]);
  });

  test("without an address goes to OpenAI, as in Codex", () => {
    const config = read('[model_providers.mine]\nname = "Mine"\nenv_key = "K"', { K: "k" });
    expect(upstreamOf(config, "mine")).toMatchObject({
      baseUrl: "https://api.openai.com/v1",
      profile: profileNamed("openai"),
    });
  });

  test.each([
    'auth = { command = "token" }',
    "requires_openai_auth = true",
    "aws = { profile = 'x' }",
  ])("that signs in as only Codex can is left out with a warning: %s", (line) => {
    const config = read(`${azure}${line}`);
    expect(config.upstreams.size).toBe(0);
    expect(config.warnings).toEqual([
      "d.toml:1: model_providers.azure: signs in as only Codex can, and is left out here",
    ]);
  });

  test("that is built into Codex for AWS is left out too", () => {
    const config = read('[model_providers.amazon-bedrock]\nbase_url = "https://aws.example.org"');
    expect(config.upstreams.size).toBe(0);
    expect(config.warnings).toHaveLength(1);
  });

  test.each(["localhost", "127.0.0.1", "[::1]", "0.0.0.0"])(
    "that leads to this gateway at %s is refused",
    (host) => {
      const toml = azure.replace("https://example.org/openai", `http://${host}:4141/v1`);
      expect(problemsIn(toml)).toEqual([
        "d.toml:3: model_providers.azure.base_url: leads to this gateway itself, on port 4141; name the server behind it, or take it out",
      ]);
      expect(read(toml, {}, { port: 4142 }).upstreams.size).toBe(1);
      expect(problemsIn(toml.replace("4141", "5000"), {}, { port: 5000 })).toHaveLength(1);
    },
  );

  test("is checked like any address", () => {
    expect(problemsIn(azure.replace("https://", "https://u:p@"))).toEqual([
      "d.toml:3: model_providers.azure.base_url: has a user or password in it; take it out and set api_key",
    ]);
    expect(problemsIn(`${azure}http_headers = { host = "x", a = "\\n" }`)).toHaveLength(2);
  });
});

describe("what Codex refuses", () => {
  const chatIsRemoved = [
    '`wire_api = "chat"` is no longer supported.',
    'How to fix: set `wire_api = "responses"` in your provider config.',
    "More info: https://github.com/openai/codex/discussions/7782",
  ].join("\n");

  test("is refused in its words: chat, with the way out", () => {
    expect(problemsIn(`${azure}wire_api = "chat"`)).toEqual([
      `d.toml:4: model_providers.azure.wire_api: Codex no longer speaks Chat; write [upstreams.azure] with speaks = "chat" instead. It says:\nError loading config.toml: ${chatIsRemoved}\nin \`model_providers.azure.wire_api\``,
    ]);
  });

  const seeds = sharedData("seeds");
  test.skipIf(seeds.isMissing)("is refused in the words of document 000", () => {
    const file = readdirSync(seeds.path).find((name) => name.startsWith("000")) ?? "";
    const page = readFileSync(join(seeds.path, file), "utf8").replaceAll('\\"', '"');
    const [problem = ""] = problemsIn(`${azure}wire_api = "chat"`);
    const missing = chatIsRemoved
      .split("\n")
      .filter((line) => !page.includes(line) || !problem.includes(line));
    expect(missing).toEqual([]);
  });

  test("is named for every provider, and not only for the first", () => {
    const toml = `${azure}wire_api = "chat"\n${azure.replace("azure", "other")}wire_api = "chat"\n${zai}retries = "x"`;
    expect(problemsIn(toml).map((problem) => problem.split(": ", 2).join(": "))).toEqual([
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
  ])("%j is refused", (toml, place, words) => {
    const [problem, ...others] = problemsIn(toml);
    expect(others).toEqual([]);
    expect(problem?.startsWith(place)).toBe(true);
    expect(problem).toContain(words);
  });

  test("is repeated without a text that may be a key", () => {
    const [problem = ""] = problemsIn(`${azure}http_headers = "Bearer sk-\\"314159"`);
    expect(problem).toContain("invalid type: string, expected a map");
    expect(problem).not.toContain("314159");
  });

  test("and what it only ignores is a warning", () => {
    expect(read(`${azure}wire-api = "chat"`).warnings).toEqual([
      "d.toml:1: model_providers: Codex is ignoring 1 unrecognized configuration setting. Check for typos or deprecated settings.\n  user (d.toml): `model_providers.azure.wire-api` is ignored.",
    ]);
  });
});

describe("a whole config.toml of Codex", () => {
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

  test("is read, and what is none of ours is passed over", () => {
    const config = read(codex);
    expect([...config.upstreams.keys()]).toEqual(["azure"]);
    expect(config.warnings).toEqual([]);
    expect(read('model_provider = "openai"\nmodel = "gpt-5"').server.demo).toBe(true);
  });

  test("has agents and tools of Codex's own, which are passed over, and may have ours beside them", () => {
    const codexs = `${codex}[tools]
web_search = true
view_image = { size = 3 }
[agents]
max_threads = 4
[agents.explorer]
description = "Explores."
config_file = "explorer.toml"
`;
    expect(read(codexs)).toMatchObject({ agents: new Map(), warnings: [] });
    const both = `${codexs}[agents.mine]\nmodel = "azure/gpt"\n[tools.web]\nmax_kb = 1\n`;
    expect([...read(both).agents.keys()]).toEqual(["mine"]);
    expect(read(both).tools.web.maxBytes).toBe(1024);
    expect(problemsIn(`${codexs}[agents.mine]\neffort = "low"\n[tools.web]\nmaxkb = 1\n`)).toEqual([
      'd.toml:21: agents.mine.model: is missing; write model = "upstream/model", or a name of [models]',
      "d.toml:24: tools.web.maxkb: is no setting; did you mean max_kb?",
    ]);
    expect(read(`tools = 1\nagents = []\n${codex}`).warnings).toEqual([]);
  });

  test("has skills of Codex's own, too, which are passed over", () => {
    const codexs = `${codex}[skills]\nbundled = { enabled = true }\n[[skills.config]]\npath = "x"\n`;
    expect(read(codexs)).toMatchObject({ skills: new Map(), warnings: [] });
    const ours = `${codexs}[skills.mine]\nfile = "mine.md"\nalways = true\n`;
    expect([...read(ours).skills.keys()]).toEqual(["mine"]);
  });

  test("still has ours checked, and a table that is nearly ours is a warning", () => {
    expect(problemsIn(`${codex}[server]\nprot = 1`)).toHaveLength(1);
    expect(read(`${codex}[upstream.a]\nspeaks = "chat"`).warnings).toEqual([
      "d.toml:13: upstream: is not read here; did you mean upstreams?",
    ]);
  });

  test("is needed for that: elsewhere an unknown setting is an error", () => {
    expect(problemsIn('approval_policy = "never"')).toHaveLength(1);
  });
});
