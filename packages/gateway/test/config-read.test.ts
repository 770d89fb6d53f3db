import { genericProfile, profileNamed, withFlags } from "@deltawire/wire";
import fc from "fast-check";
import { stringify } from "smol-toml";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../src/config/problems.ts";
import { readConfig } from "../src/config/read.ts";
import { settings } from "../src/config/settings.ts";
import { aliasOf } from "./models-config.ts";
import { problemsIn, read, refusalOf, zai } from "./reading-config.ts";

const unsaid = { approval: undefined, results: undefined };
const plain = aliasOf({});

test("an empty file is the demo on loopback, with every default", () => {
  expect(read("")).toEqual({
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
      demo: true,
    },
    upstreams: new Map(),
    models: new Map(),
    agents: new Map(),
    tools: {
      files: undefined,
      shell: undefined,
      web: { maxBytes: 1024 * 1024, timeoutMs: 30_000, ...unsaid, unmask: true },
      time: { ...unsaid, unmask: true },
      agents: unsaid,
    },
    mcp: new Map(),
    chats: {
      model: undefined,
      agent: undefined,
      instructions: "",
      toolGroups: [],
      turns: 20,
      rounds: 10,
      retrySeconds: 30,
      seconds: 604_800,
      results: "never",
      titles: true,
      titleModel: undefined,
      options: {},
      privacy: [],
      timeZone: undefined,
      exactTime: false,
      deletedDays: 30,
    },
    skills: new Map(),
    store: { enabled: true, path: undefined, keepDays: 90, maxMb: 4096 },
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

[models.priced]
use = "zai/glm-4.5"
price_input = 0.6
price_cached = 0
price_output = 2
price_image = 0.04
type = "chat"
takes = ["image", "pdf", "image"]
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
results = "on error"
unmask = false

[tools.shell]
folder = "~/shell"
allow = ["git status"]
timeout_seconds = 1.5
env = ["CI", "LANG"]
approval = "ask always"
results = "never"
unmask = false

[tools.web]
max_kb = 2
timeout_seconds = 3
approval = "ask always"
results = "always"
unmask = false

[tools.time]
approval = "auto"
unmask = false

[tools.agents]
results = "always"

[mcp.tickets]
command = "npx"
args = ["-y", "tickets-mcp"]
env = { TOKEN = "env:TICKETS", DEBUG = "" }
cwd = "servers"
timeout_seconds = 5
tools = ["find", "find"]
approval = "ask once"
results = "never"
unmask = false

[mcp.docs]
url = "https://docs.example.org/mcp?v=2"
headers = { Authorization = "env:DOCS" }

[chats]
agent = "worker"
instructions = "Be kind."
tool_groups = ["time", "time", "docs"]
turns = 0
rounds = 25
retry_seconds = 12.5
seconds = 900
results = "on error"
titles = false
title_model = "glm"
privacy = ["email", "key", "email"]
time_zone = "Asia/Tokyo"
exact_time = true
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
keep_days = 0
max_mb = 1
`;
  const env = {
    TOKEN: " a-token-from-outside\n",
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
  const beside = {
    folder: "/etc/dw",
    home: "/u/me",
    readFile: (path: string) => files.get(path) ?? "",
  };
  const glm = profileNamed("glm") ?? genericProfile;
  expect(readConfig(toml, { file: "d.toml", env, ...beside })).toEqual({
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
      maxJsonValues: 250_000,
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
          targets: [{ upstream: "zai", model: "vendor/glm" }],
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
          takes: ["image", "pdf"],
          tools: false,
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
        results: "on error",
        unmask: false,
      },
      shell: {
        folder: "/u/me/shell",
        allow: ["git status"],
        timeoutMs: 1500,
        env: ["CI", "LANG"],
        approval: "ask always",
        results: "never",
        unmask: false,
      },
      web: {
        maxBytes: 2048,
        timeoutMs: 3000,
        approval: "ask always",
        results: "always",
        unmask: false,
      },
      time: { approval: "auto", results: undefined, unmask: false },
      agents: { approval: undefined, results: "always" },
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
          approval: "ask once",
          results: "never",
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
          ...unsaid,
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
      turns: 0,
      rounds: 25,
      retrySeconds: 12.5,
      seconds: 900,
      results: "on error",
      titles: false,
      titleModel: "glm",
      options: { temperature: 1 },
      privacy: ["email", "key"],
      timeZone: "Asia/Tokyo",
      exactTime: true,
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
    store: { enabled: false, path: "/etc/dw/tasks.db", keepDays: undefined, maxMb: 1 },
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
      'd.toml:3:21: the text is not closed; add " behind it',
    ]);
    expect(problemsIn("[server]\nhost = localhost\n")).toEqual([
      'd.toml:2:8: the value is no number and not in quotes; put a text in "quotes"',
    ]);
    expect(problemsIn("[server]\n[server]\n")).toEqual([
      "d.toml:2:2: [server] is there twice, first in line 1; put the settings of both under one",
    ]);
  });

  test.each([
    ["port = 4141", "d.toml:1: port: is no setting; did you mean port below [server]?"],
    ["[upstream.a]", "d.toml:1: upstream: is no setting; did you mean upstreams?"],
    ["[sevrer]", "d.toml:1: sevrer: is no setting; did you mean server?"],
    [
      "[colours]",
      "d.toml:1: colours: is no setting; known are server, clients, upstreams, models, agents, tools, mcp, chats, skills, store, model_providers",
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
