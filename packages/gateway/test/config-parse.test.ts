import { genericProfile, findProviderProfile, withProfileFlags } from "@deltawire/wire";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../src/config/config-problems.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import { settingDefinitions } from "../src/config/setting-definitions.ts";
import { createAlias } from "./models-config.ts";
import { listProblems, parseToml, catchConfigError, zaiToml } from "./config-fixture.ts";

const noPolicies = { approval: undefined, resultApproval: undefined };
const plain = createAlias({});

test("an empty file means the demo on loopback, with all defaults", () => {
  expect(parseToml("")).toEqual({
    server: {
      host: "127.0.0.1",
      port: 4141,
      clients: [],
      allowedHosts: [],
      corsOrigins: [],
      maxBodyBytes: 64 * 1024 * 1024,
      maxJsonValues: 250_000,
      drainSeconds: 30,
      logLevel: "info",
      sealingKey: undefined,
      demo: true,
    },
    upstreams: new Map(),
    modelPatterns: new Map(),
    models: new Map(),
    agents: new Map(),
    tools: {
      files: undefined,
      shell: undefined,
      web: { maxBytes: 1024 * 1024, timeoutMs: 30_000, ...noPolicies, unmask: true },
      time: { ...noPolicies, unmask: true },
      agents: noPolicies,
    },
    mcp: new Map(),
    chats: {
      model: undefined,
      agent: undefined,
      instructions: "",
      toolGroups: [],
      maxTurns: 20,
      maxRounds: 10,
      retrySeconds: 30,
      maxSeconds: 604_800,
      resultApproval: "never",
      generateTitles: true,
      titleModel: undefined,
      options: {},
      privacy: [],
      timeZone: undefined,
      addMessageTimes: false,
      deletedDays: 30,
    },
    skills: new Map(),
    store: {
      enabled: true,
      path: undefined,
      url: undefined,
      schema: "deltawire",
      retentionDays: 90,
      maxMb: 4096,
      responseDays: 30,
      responsesMaxMb: 1024,
      maxConnections: 10,
      s3: undefined,
    },
    bus: { url: undefined, prefix: "deltawire" },
    warnings: [],
  });
});

test("every setting of a file is read", () => {
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
sealing_key = "env:SEALING_KEY"
demo = true

[clients.editor]
token = "a-token-of-its-own"
tool_calls = "complete"
reasoning = "raw"

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
schema_dialect = "moonshot"
extra_body.thinking = { type = "enabled" }

[upstreams.zai.messages_flags]
thinking_style = "none"
late_system_messages = "keep"
unsigned_thinking = true
drop_thinking = false
default_max_tokens = 4096
max_tokens_limit = 16_384
cache_marks = true
dropped_parameters = ["metadata"]
extra_body.top_k = 1

[models]
glm = "zai/glm-4.6"
best = ["zai/glm-4.6", "demo/clean"]
long = { use = "zai/vendor/glm", context_window = 200_000, max_output_tokens = 8192 }
"claude-*" = "zai/glm-4.6"

[models.priced]
use = "zai/glm-4.5"
price_input = 0.6
price_cached = 0
price_output = 2
price_image = 0.04
type = "chat"
input_modalities = ["image", "pdf", "image"]
tools = false
options = { temperature = 0.5, reasoning.effort = "high", stop = ["a", "b"] }

[agents.worker]
model = "priced"
description = "Works."
instructions = "Work."
tool_groups = ["files", "shell", "web", "time", "tickets", "docs"]
agents = ["helper"]
max_rounds = 20
max_tokens = 100_000
max_cost = 0.5
max_seconds = 90.5
max_depth = 1
at_limit = "ask"
reasoning = "raw"
effort = "high"
context_window = 64_000
approval_seconds = 3600
options.top_p = 0.9

[agents.helper]
model = "zai/glm-4.6"
instructions_file = "prompts/helper.md"

[tools.files]
folder = "work"
read_only = true
approval = "auto"
result_approval = "on_error"
unmask = false

[tools.shell]
folder = "~/shell"
allow = ["git status"]
timeout_seconds = 1.5
env = ["CI", "LANG"]
approval = "ask_always"
result_approval = "never"
unmask = false

[tools.web]
max_kb = 2
timeout_seconds = 3
approval = "ask_always"
result_approval = "always"
unmask = false

[tools.time]
approval = "auto"
unmask = false

[tools.agents]
result_approval = "always"

[mcp.tickets]
command = "npx"
args = ["-y", "tickets-mcp"]
env = { TOKEN = "env:TICKETS", DEBUG = "" }
cwd = "servers"
timeout_seconds = 5
tools = ["find", "find"]
approval = "ask_once"
result_approval = "never"
unmask = false

[mcp.docs]
url = "https://docs.example.org/mcp?v=2"
headers = { Authorization = "env:DOCS" }

[chats]
agent = "worker"
instructions = "Be kind."
tool_groups = ["time", "time", "docs"]
turns = 0
max_rounds = 25
retry_seconds = 12.5
max_seconds = 900
result_approval = "on_error"
titles = false
title_model = "glm"
privacy = ["email", "key", "email"]
time_zone = "Asia/Tokyo"
message_times = true
deleted_days = 7

[chats.options]
temperature = 1

[skills.letters]
file = "skills/letters.md"
when = "A letter is to be written."
description = "How we write letters."

[skills.house]
file = "skills/house.md"
always = true

[store]
enabled = false
path = "tasks.db"
retention_days = 0
max_mb = 1
`;
  const env = {
    TOKEN: " a-token-from-outside\n",
    SEALING_KEY: "0123456789abcdef0123456789abcdef",
    ZAI_API_KEY: "zk",
    TEAM_SECRET: "ts",
    TICKETS: "tickets-token",
    DOCS: "Bearer docs-token",
  };
  const files = new Map([
    ["/etc/dw/prompts/helper.md", "\uFEFF# Helper\nHelp.\n"],
    ["/etc/dw/skills/letters.md", "\uFEFF# Letters\n"],
    ["/etc/dw/skills/house.md", "# House\n"],
  ]);
  const fileContext = {
    folder: "/etc/dw",
    home: "/u/me",
    readFile: (path: string) => files.get(path) ?? "",
  };
  const glm = findProviderProfile("glm") ?? genericProfile;
  expect(parseConfig(toml, { file: "d.toml", env, ...fileContext })).toEqual({
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
        { name: "editor", token: "a-token-of-its-own", toolCalls: "complete", reasoning: "raw" },
      ],
      allowedHosts: ["gate.example.org"],
      corsOrigins: ["https://chat.example.org"],
      maxBodyBytes: 512 * 1024,
      maxJsonValues: 250_000,
      drainSeconds: 1.5,
      logLevel: "silent",
      sealingKey: "0123456789abcdef0123456789abcdef",
      demo: true,
    },
    upstreams: new Map([
      [
        "zai",
        {
          name: "zai",
          baseUrl: "https://api.z.ai/api/coding/paas/v4",
          speaks: "chat",
          detectsApi: false,
          profile: withProfileFlags(glm, {
            leakedCalls: ["hermes"],
            startsInsideThink: true,
            schemaDialect: "moonshot",
            extraBody: { thinking: { type: "enabled" } },
          }),
          messagesFlags: {
            thinkingStyle: "none",
            lateSystemMessages: "keep",
            unsignedThinking: true,
            dropThinking: false,
            defaultMaxTokens: 4096,
            maxTokensLimit: 16_384,
            cacheMarks: true,
            droppedParameters: ["metadata"],
            extraBody: { top_k: 1 },
          },
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
    modelPatterns: new Map([
      ["claude-*", { ...plain, targets: [{ upstream: "zai", model: "glm-4.6" }] }],
    ]),
    models: new Map([
      [
        "glm",
        {
          ...plain,
          targets: [{ upstream: "zai", model: "glm-4.6" }],
        },
      ],
      [
        "best",
        {
          ...plain,
          targets: [
            { upstream: "zai", model: "glm-4.6" },
            { upstream: "demo", model: "clean" },
          ],
        },
      ],
      [
        "long",
        {
          ...plain,
          targets: [{ upstream: "zai", model: "vendor/glm", maxOutputTokens: 8192 }],
          contextWindow: 200_000,
        },
      ],
      [
        "priced",
        {
          targets: [{ upstream: "zai", model: "glm-4.5" }],
          contextWindow: undefined,
          price: { input: 0.6, cached: 0, output: 2, image: 0.04 },
          type: "chat",
          inputModalities: ["image", "pdf"],
          supportsTools: false,
          options: { temperature: 0.5, reasoning: { effort: "high" }, stop: ["a", "b"] },
        },
      ],
    ]),
    agents: new Map([
      [
        "worker",
        {
          name: "worker",
          model: "priced",
          description: "Works.",
          instructions: "Work.",
          toolGroups: ["files", "shell", "web", "time", "tickets", "docs", "agents"],
          agents: ["helper"],
          limits: { rounds: 20, tokens: 100_000, cost: 0.5, seconds: 90.5, depth: 1 },
          atLimit: "ask",
          reasoning: "raw",
          effort: "high",
          contextWindow: 64_000,
          approvalSeconds: 3600,
          options: { top_p: 0.9 },
        },
      ],
      [
        "helper",
        {
          name: "helper",
          model: "zai/glm-4.6",
          description: "",
          instructions: "# Helper\nHelp.\n",
          toolGroups: [],
          agents: [],
          limits: { rounds: 10, depth: 3 },
          atLimit: "finish",
          reasoning: "summary",
          effort: undefined,
          contextWindow: undefined,
          approvalSeconds: undefined,
          options: {},
        },
      ],
    ]),
    tools: {
      files: {
        folder: "/etc/dw/work",
        readOnly: true,
        approval: "auto",
        resultApproval: "on_error",
        unmask: false,
      },
      shell: {
        folder: "/u/me/shell",
        allow: ["git status"],
        timeoutMs: 1500,
        env: ["CI", "LANG"],
        approval: "ask_always",
        resultApproval: "never",
        unmask: false,
      },
      web: {
        maxBytes: 2048,
        timeoutMs: 3000,
        approval: "ask_always",
        resultApproval: "always",
        unmask: false,
      },
      time: { approval: "auto", resultApproval: undefined, unmask: false },
      agents: { approval: undefined, resultApproval: "always" },
    },
    mcp: new Map([
      [
        "tickets",
        {
          name: "tickets",
          transport: {
            kind: "command",
            command: "npx",
            args: ["-y", "tickets-mcp"],
            env: { TOKEN: "tickets-token", DEBUG: "" },
            cwd: "/etc/dw/servers",
          },
          timeoutMs: 5000,
          tools: ["find"],
          approval: "ask_once",
          resultApproval: "never",
          unmask: false,
          secrets: ["tickets-token"],
        },
      ],
      [
        "docs",
        {
          name: "docs",
          transport: {
            kind: "url",
            url: "https://docs.example.org/mcp?v=2",
            headers: { authorization: "Bearer docs-token" },
          },
          timeoutMs: 60_000,
          tools: undefined,
          ...noPolicies,
          unmask: true,
          secrets: ["Bearer docs-token"],
        },
      ],
    ]),
    chats: {
      model: undefined,
      agent: "worker",
      instructions: "Be kind.",
      toolGroups: ["time", "docs"],
      maxTurns: 0,
      maxRounds: 25,
      retrySeconds: 12.5,
      maxSeconds: 900,
      resultApproval: "on_error",
      generateTitles: false,
      titleModel: "glm",
      options: { temperature: 1 },
      privacy: ["email", "key"],
      timeZone: "Asia/Tokyo",
      addMessageTimes: true,
      deletedDays: 7,
    },
    skills: new Map([
      [
        "letters",
        {
          name: "letters",
          text: "# Letters\n",
          when: "A letter is to be written.",
          always: false,
          description: "How we write letters.",
        },
      ],
      ["house", { name: "house", text: "# House\n", always: true, description: "" }],
    ]),
    store: {
      enabled: false,
      path: "/etc/dw/tasks.db",
      url: undefined,
      schema: "deltawire",
      retentionDays: undefined,
      maxMb: 1,
      responseDays: 30,
      responsesMaxMb: 1024,
      maxConnections: 10,
      s3: undefined,
    },
    bus: { url: undefined, prefix: "deltawire" },
    warnings: [
      'd.toml:52: models.long.use: "vendor/glm" is not in the models of zai; requests for it are sent anyway',
    ],
  });
});

describe("a problem", () => {
  test("has a code and names the file, the line, the setting and what to write", () => {
    const error = catchConfigError(() => parseToml("[server]\n\nport = '4141'"));
    expect(error).toBeInstanceOf(ConfigError);
    expect(error.code).toBe("invalid_config");
    expect(error.message).toBe("d.toml:3: server.port: must be an integer, got a string");
  });

  test("is reported together with all others, in the order of the file", () => {
    expect(
      listProblems(`[server]\nprot = 1\nlog_level = "inf"\n\n${zaiToml}retries = 99\nspeeks = 1\n`),
    ).toEqual([
      "d.toml:2: unknown setting server.prot (did you mean port?)",
      'd.toml:3: server.log_level: must be one of "debug", "info", "warn", "error", "silent" (did you mean info?)',
      "d.toml:8: upstreams.zai.retries: must be from 0 to 10, got 99",
      "d.toml:9: unknown setting upstreams.zai.speeks (did you mean speaks?)",
    ]);
  });

  test("in the TOML syntax has line, column and reason, without quoting the line", () => {
    expect(listProblems('[server]\nport = 1\napi_key = "sk-secret\n')).toEqual([
      'd.toml:3:21: the string is not closed; add " at its end',
    ]);
    expect(listProblems("[server]\nhost = localhost\n")).toEqual([
      'd.toml:2:8: invalid value; a string must be in "quotes"',
    ]);
    expect(listProblems("[server]\n[server]\n")).toEqual([
      "d.toml:2:2: [server] is defined twice, first on line 1; merge the two tables",
    ]);
  });

  test.each([
    ["port = 4141", "d.toml:1: unknown setting port (did you mean port under [server]?)"],
    ["[upstream.a]", "d.toml:1: unknown table [upstream] (did you mean upstreams?)"],
    ["[sevrer]", "d.toml:1: unknown table [sevrer] (did you mean server?)"],
    [
      "[colors]",
      "d.toml:1: unknown table [colors]; known tables: server, clients, upstreams, models, agents, tools, mcp, chats, skills, store, bus, model_providers",
    ],
    [
      "[server]\nbase_url = 1",
      "d.toml:2: unknown setting server.base_url (did you mean upstreams.*.base_url?)",
    ],
    ["server = 3", "d.toml:1: server: must be a table ([server]), got an integer"],
    [
      "[upstreams]\na = 'x'",
      "d.toml:2: upstreams.a: must be a table ([upstreams.a]), got a string",
    ],
    [
      "[server]\ntokens = 'x'",
      'd.toml:2: server.tokens: must be a list such as ["env:NAME"], got a string',
    ],
    [
      "[server]\nallowed_hosts = [1]",
      "d.toml:2: server.allowed_hosts[0]: must be a string in quotes, got an integer",
    ],
    ["[server]\ndemo = 'yes'", "d.toml:2: server.demo: must be true or false, got a string"],
    [
      "[server]\ndrain_seconds = inf",
      "d.toml:2: server.drain_seconds: must be a number, got a number",
    ],
    ["[server]\nport = 65536", "d.toml:2: server.port: must be from 0 to 65535, got 65536"],
    ["[server]\nport = 1.5", "d.toml:2: server.port: must be an integer, got a number"],
    [
      "[server]\nhost = ''",
      "d.toml:2: server.host: must not be empty; remove it or write a string",
    ],
    [
      "[models]\na = { use = 'demo/clean', context_window = 0 }",
      "d.toml:2: models.a.context_window: must be at least 1, got 0",
    ],
    [
      "[models]\na = 1979-05-27",
      "d.toml:2: models.a: must be a string or a list of strings, got a date",
    ],
  ])("%j is reported as %s", (toml, problem) => {
    expect(listProblems(toml).map((text) => text.replace(/ such as \["…", "…"\]/, ""))).toEqual([
      problem,
    ]);
  });
});

describe("the table of settings", () => {
  test("has each setting once, with a complete sentence as description", () => {
    const paths = settingDefinitions.map(({ path }) => path);
    expect(new Set(paths).size).toBe(paths.length);
    for (const { path, description } of settingDefinitions)
      expect(`${path}: ${description}`).toMatch(/: [A-Z`].*\.$/);
  });

  test("has only valid defaults", () => {
    const invalid = settingDefinitions.filter(({ values, default: defaultValue, min, max }) => {
      if (typeof defaultValue === "number")
        return defaultValue < (min ?? defaultValue) || defaultValue > (max ?? defaultValue);
      return typeof defaultValue === "string" && values?.includes(defaultValue) === false;
    });
    expect(invalid).toEqual([]);
  });

  test("rejects a value of the wrong type for every setting", () => {
    for (const { path } of settingDefinitions) {
      const location = path.replace("*", "x");
      // No setting is a date.
      const problem = listProblems(`${location} = 1979-05-27\n`).find((text) =>
        text.startsWith(`d.toml:1: ${location}: `),
      );
      expect(problem).toMatch(/: must be .+, got a date$/);
    }
  });
});

test("any document results in a configuration or a ConfigError, always the same", () => {
  const name = fc.constantFrom(
    ...new Set(settingDefinitions.flatMap(({ path }) => path.split("."))),
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
          return parseToml(toml, { A: "1" });
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
