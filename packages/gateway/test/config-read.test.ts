import { genericProfile, profileNamed, withFlags } from "@deltawire/wire";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../src/config/problems.ts";
import { settings } from "../src/config/settings.ts";
import { problemsIn, read, refusalOf, zai } from "./reading-config.ts";

test("an empty file is the demo on loopback, with every default", () => {
  expect(read("")).toEqual({
    server: {
      host: "127.0.0.1",
      port: 4141,
      clients: [],
      allowedHosts: [],
      corsOrigins: [],
      maxBodyBytes: 64 * 1024 * 1024,
      drainSeconds: 30,
      logLevel: "info",
      demo: true,
    },
    upstreams: new Map(),
    models: new Map(),
    warnings: [],
  });
});

test("a file with every setting is read as it says", () => {
  const toml = `
[server]
host = "0.0.0.0"
port = 0
tokens = ["env:TOKEN"]
allowed_hosts = ["Gate.example.org"]
cors_origins = ["https://chat.example.org"]
max_body_mb = 0.5
drain_seconds = 1.5
log_level = "silent"
demo = true

[clients.editor]
token = "a-token-of-its-own"
tool_calls = "whole"
reasoning = "text"

[upstreams.zai]
base_url = "https://api.z.ai/api/coding/paas/v4/"
api_key = "env:ZAI_API_KEY"
api_key_header = "Api-Key"
speaks = "chat"
profile = "Zhipu"
models = ["glm-4.6", "glm-4.6", "glm-4.5"]
headers = { X-Team = "tools", "x-secret" = "env:TEAM_SECRET" }
query = { api-version = "2025" }
connect_timeout_seconds = 2.5
idle_timeout_seconds = 60
retries = 0

[upstreams.zai.flags]
leaked_calls = ["hermes"]
starts_inside_think = true
schema_flavour = "moonshot"
extra_body.thinking = { type = "enabled" }

[models]
glm = "zai/glm-4.6"
best = ["zai/glm-4.6", "demo/clean"]
long = { use = "zai/vendor/glm", context_window = 200_000 }
`;
  const env = { TOKEN: " a-token-from-outside\n", ZAI_API_KEY: "zk", TEAM_SECRET: "ts" };
  const glm = profileNamed("glm") ?? genericProfile;
  expect(read(toml, env)).toEqual({
    server: {
      host: "0.0.0.0",
      port: 0,
      clients: [
        {
          name: "token 1",
          token: "a-token-from-outside",
          toolCalls: "deltas",
          reasoning: "summary",
        },
        { name: "editor", token: "a-token-of-its-own", toolCalls: "whole", reasoning: "text" },
      ],
      allowedHosts: ["gate.example.org"],
      corsOrigins: ["https://chat.example.org"],
      maxBodyBytes: 512 * 1024,
      drainSeconds: 1.5,
      logLevel: "silent",
      demo: true,
    },
    upstreams: new Map([
      [
        "zai",
        {
          name: "zai",
          baseUrl: "https://api.z.ai/api/coding/paas/v4",
          speaks: "chat",
          profile: withFlags(glm, {
            leakedCalls: ["hermes"],
            startsInsideThink: true,
            schemaFlavour: "moonshot",
            extraBody: { thinking: { type: "enabled" } },
          }),
          apiKey: "zk",
          apiKeyVariable: "ZAI_API_KEY",
          apiKeyHeader: "api-key",
          headers: { "x-team": "tools", "x-secret": "ts" },
          query: { "api-version": "2025" },
          models: ["glm-4.6", "glm-4.5"],
          connectTimeoutMs: 2500,
          idleTimeoutMs: 60_000,
          retries: 0,
        },
      ],
    ]),
    models: new Map([
      ["glm", { targets: [{ upstream: "zai", model: "glm-4.6" }], contextWindow: undefined }],
      [
        "best",
        {
          targets: [
            { upstream: "zai", model: "glm-4.6" },
            { upstream: "demo", model: "clean" },
          ],
          contextWindow: undefined,
        },
      ],
      ["long", { targets: [{ upstream: "zai", model: "vendor/glm" }], contextWindow: 200_000 }],
    ]),
    warnings: [
      'd.toml:40: models.long.use: zai does not list "vendor/glm" in its models; requests for it are sent all the same',
    ],
  });
});

describe("a problem", () => {
  test("has a code, and names the file, the line, the setting and what to do", () => {
    const error = refusalOf(() => read("[server]\n\nport = '4141'"));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.code).toBe("invalid_config");
    expect(error.message).toBe("d.toml:3: server.port: is a text; write a whole number");
  });

  test("does not hide the others: all come at once, in the order of the file", () => {
    expect(
      problemsIn(`[server]\nprot = 1\nlog_level = "inf"\n\n${zai}retries = 99\nspeeks = 1\n`),
    ).toEqual([
      "d.toml:2: server.prot: is no setting; did you mean port?",
      'd.toml:3: server.log_level: is none of its words; write one of "debug", "info", "warn", "error", "silent"; did you mean info?',
      "d.toml:8: upstreams.zai.retries: is 99; write a number from 0 to 10",
      "d.toml:9: upstreams.zai.speeks: is no setting; did you mean speaks?",
    ]);
  });

  test("in the TOML itself names line, column and reason, and shows nothing of the line", () => {
    expect(problemsIn('[server]\nport = 1\napi_key = "sk-secret\n')).toEqual([
      "d.toml:3:21: control characters are not allowed in strings; see https://toml.io for how it is written",
    ]);
    expect(problemsIn("[server]\nhost = localhost\n")).toEqual([
      "d.toml:2:8: invalid value; a text stands in quotes",
    ]);
    expect(problemsIn("[server]\n[server]\n")).toEqual([
      "d.toml:2:2: trying to redefine an already defined table or value; keep one of the two",
    ]);
  });

  test.each([
    ["port = 4141", "d.toml:1: port: is no setting; did you mean server.port?"],
    ["[upstream.a]", "d.toml:1: upstream: is no setting; did you mean upstreams?"],
    ["[sevrer]", "d.toml:1: sevrer: is no setting; did you mean server?"],
    [
      "[colours]",
      "d.toml:1: colours: is no setting; known are server, clients, upstreams, models, model_providers",
    ],
    [
      "[server]\nbase_url = 1",
      "d.toml:2: server.base_url: is no setting; did you mean upstreams.*.base_url?",
    ],
    ["server = 3", "d.toml:1: server: is a whole number; write a table: [server]"],
    ["[upstreams]\na = 'x'", "d.toml:2: upstreams.a: is a text; write a table: [upstreams.a]"],
    ["[server]\ntokens = 'x'", 'd.toml:2: server.tokens: is a text; write a list: ["env:NAME"]'],
    [
      "[server]\nallowed_hosts = [1]",
      "d.toml:2: server.allowed_hosts[0]: is a whole number; write a text in quotes",
    ],
    ["[server]\ndemo = 'yes'", "d.toml:2: server.demo: is a text; write true or false"],
    [
      "[server]\ndrain_seconds = inf",
      "d.toml:2: server.drain_seconds: is a number; write a number",
    ],
    ["[server]\nport = 65536", "d.toml:2: server.port: is 65536; write a number from 0 to 65535"],
    ["[server]\nport = 1.5", "d.toml:2: server.port: is a number; write a whole number"],
    ["[server]\nhost = ''", "d.toml:2: server.host: is empty; leave it out, or write a text"],
    [
      "[models]\na = { use = 'demo/clean', context_window = 0 }",
      "d.toml:2: models.a.context_window: is 0; write a number at least 1",
    ],
    ["[models]\na = 1979-05-27", "d.toml:2: models.a: is a date; write a text, or a list of texts"],
  ])("%j: %s", (toml, problem) => {
    expect(problemsIn(toml).map((text) => text.replace(/: \["…", "…"\]$/, ""))).toEqual([problem]);
  });
});

describe("the table of settings", () => {
  test("has each setting once, with a sentence that ends", () => {
    const paths = settings.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    for (const { path, description } of settings)
      expect(`${path}: ${description}`).toMatch(/: [A-Z`].*\.$/);
  });

  test("fills in no default that the setting itself would refuse", () => {
    const refused = settings.filter(({ words, default: usual, least, most }) => {
      if (typeof usual === "number") return usual < (least ?? usual) || usual > (most ?? usual);
      return typeof usual === "string" && words?.includes(usual) === false;
    });
    expect(refused).toEqual([]);
  });

  test("refuses a value of the wrong kind for every setting, at that setting", () => {
    for (const { path } of settings) {
      const place = path.replace("*", "x");
      // A date is right nowhere.
      const found = problemsIn(`${place} = 1979-05-27\n`).join("\n");
      expect(found).toContain(`d.toml:1: ${place}: is a date; write `);
    }
  });
});

test("any document is a configuration or a ConfigError, and the same one each time", () => {
  const name = fc.constantFrom(
    ...new Set(settings.flatMap(({ path }) => path.split("."))),
    "model_providers",
    "wire_api",
    "name",
    "demo",
    "__proto__",
    "constructor",
    "a b",
    "zai",
  );
  const leaf = fc.oneof(
    fc.constantFrom(
      "",
      "chat",
      "env:A",
      "env:",
      "zai/x",
      "demo",
      "http://127.0.0.1:4141",
      "https://x.org/?a",
      "\n",
    ),
    fc.integer(),
    fc.boolean(),
    fc.date({ noInvalidDate: true }),
  );
  const { table } = fc.letrec<{ table: Record<string, unknown> }>((tie) => ({
    table: fc.dictionary(name, fc.oneof(leaf, fc.array(leaf), tie("table")), {
      noNullPrototype: true,
      depthIdentifier: "table",
    }),
  }));
  fc.assert(
    fc.property(table, (document) => {
      const toml = stringify(document);
      const outcome = () => {
        try {
          return read(toml, { A: "1" });
        } catch (error) {
          if (error instanceof ConfigError) return error.problems;
          throw error;
        }
      };
      expect(outcome()).toEqual(outcome());
    }),
    { numRuns: 500 },
  );
});
