import { describe, expect, test } from "vitest";
import { demoAgentNames } from "../src/config/chats.ts";
import { createDemoAgents } from "@deltawire/demo";
import { listProblems, parseToml, zaiToml, formatProblem } from "./config-fixture.ts";

const local =
  '[upstreams.local]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "chat"\nmodels = ["m"]\n';
const listed = `${zaiToml}models = ["glm-4.6"]\n${local}`;
const reviewer = '[agents.reviewer]\nmodel = "zai/glm-4.6"\n';

/** Returns a file with `[chats]` on line 1 and its first setting on line 2. */
function chats(lines: string, rest = `${listed}${reviewer}`): string {
  return `[chats]\n${lines}\n\n${rest}`;
}

describe("the defaults of chats", () => {
  test("have a model or an agent, not both", () => {
    expect(parseToml(chats('model = "zai/glm-4.6"')).chats).toMatchObject({
      model: "zai/glm-4.6",
      agent: undefined,
    });
    expect(parseToml(chats('agent = "reviewer"')).chats).toMatchObject({
      model: undefined,
      agent: "reviewer",
    });
    expect(listProblems(chats('agent = "reviewer"\nmodel = "zai/glm-4.6"'))).toEqual([
      "d.toml:2: chats.agent: cannot be combined with model; remove one of them",
    ]);
  });

  test("can have a model that generates images", () => {
    const painter = `[models.painter]\nuse = "zai/glm-4.6"\ntype = "image-gen"\n${listed}`;
    expect(parseToml(chats('model = "painter"', painter))).toMatchObject({
      chats: { model: "painter" },
      warnings: [],
    });
  });

  test.each([
    ['model = "zia/glm-4.6"', "model: unknown model (did you mean zai/glm-4.6?)"],
    ['model = "reviewer"', 'model: must be a model, not an agent; write agent = "reviewer"'],
    ['agent = "reviewr"', 'agent: unknown agent "reviewr" (did you mean reviewer?)'],
    ['agent = "glm"', 'agent: unknown agent "glm"; known agents: reviewer'],
    [
      'title_model = "reviewer"',
      'title_model: must be a model, not an agent; write "upstream/model"',
    ],
    ['tool_groups = ["tme"]', 'tool_groups[0]: unknown tool group "tme" (did you mean time?)'],
    [
      'tool_groups = ["time", "files"]',
      'tool_groups[1]: files needs a folder; write folder = "…" under [tools.files]',
    ],
    ["turns = -1", "turns: must be from 0 to 10000, got -1"],
    ["turns = 1.5", "turns: must be an integer, got a number"],
    ["max_rounds = 0", "max_rounds: must be from 1 to 10000, got 0"],
    ['titles = "no"', "titles: must be true or false, got a string"],
    [
      'privacy = ["email", "mail"]',
      'privacy[1]: must be one of "email", "phone", "card", "key", "password", "id" (did you mean email?)',
    ],
    [
      'privacy = ["name"]',
      'privacy[0]: must be one of "email", "phone", "card", "key", "password", "id"',
    ],
    ["privacy = true", 'privacy: must be a list of strings such as ["…"], got true'],
    ["deleted_days = -1", "deleted_days: must be from 0 to 36500, got -1"],
    [
      'time_zone = "Mars/Base"',
      'time_zone: unknown time zone "Mars/Base"; use an IANA name such as Europe/Berlin',
    ],
    [
      'time_zone = "+01:00"',
      'time_zone: unknown time zone "+01:00"; use an IANA name such as Europe/Berlin',
    ],
    ['message_times = "yes"', "message_times: must be true or false, got a string"],
    ["turn = 5", "unknown setting turn (did you mean turns?)"],
    ["options = []", "options: must be a table such as { name = … }, got a list"],
  ])("are an error with %s", (line, what) => {
    expect(listProblems(chats(line))).toEqual([formatProblem(2, "chats", what)]);
  });

  test("have the time zone of the system and no message times, unless configured", () => {
    expect(parseToml("").chats).toMatchObject({ timeZone: undefined, addMessageTimes: false });
    const configured = parseToml(chats('time_zone = "Asia/Tokyo"\nmessage_times = true')).chats;
    expect(configured).toMatchObject({ timeZone: "Asia/Tokyo", addMessageTimes: true });
  });

  test("cannot name an agent if there is none", () => {
    expect(listProblems(chats('agent = "a"', listed))).toEqual([
      'd.toml:2: chats.agent: unknown agent "a"; known agents: none',
    ]);
    expect(parseToml(chats('tool_groups = ["agents"]', listed)).warnings).toEqual([
      "d.toml:2: chats.tool_groups[0]: there are no agents to call",
    ]);
  });

  test("can name agents of the demo if there are no others", () => {
    expect(createDemoAgents("m").map(({ name }) => name)).toEqual(demoAgentNames);
    expect(parseToml(chats('agent = "demo-agent"', "")).chats.agent).toBe("demo-agent");
    expect(parseToml(chats('tool_groups = ["agents"]', "")).warnings).toEqual([]);
    const mine = '[agents.mine]\nmodel = "demo/clean"';
    expect(listProblems(chats('agent = "demo-agent"', mine))).toHaveLength(1);
  });

  test("are not reported again if their agent has an error", () => {
    expect(listProblems(chats('agent = "a"', `${listed}[agents.a]\neffort = "low"`))).toEqual([
      expect.stringContaining("agents.a.model: missing"),
    ]);
  });
});

describe("a setting that requires a chat model", () => {
  const painter = (type: string) =>
    `[models.painter]\nuse = "zai/gpt-image-1"\n${type}\n${zaiToml}${reviewer}`;
  const title = (type: string) => chats('title_model = "painter"', painter(type));
  const agent = (type: string) => `[agents.a]\nmodel = "painter"\n${painter(type)}`;

  test("is an error if the file sets another type", () => {
    const what = "must be a chat model, but its type is image-edit";
    expect(listProblems(title('type = "image-edit"'))).toEqual([
      `d.toml:2: chats.title_model: ${what}`,
    ]);
    expect(listProblems(agent('type = "image-edit"'))).toEqual([
      `d.toml:2: agents.a.model: ${what}`,
    ]);
  });

  test("is a warning if only the name suggests another type; the file can override it", () => {
    const what =
      'looks like a model of type image-gen; if it is a chat model, set type = "chat" for it in [models]';
    expect(parseToml(title("")).warnings).toEqual([`d.toml:2: chats.title_model: ${what}`]);
    expect(parseToml(agent("")).warnings).toEqual([`d.toml:2: agents.a.model: ${what}`]);
    expect(parseToml(chats('title_model = "demo/listener"', "")).warnings).toHaveLength(1);
    expect(parseToml(title('type = "chat"')).warnings).toEqual([]);
    expect(parseToml(agent('type = "chat"')).warnings).toEqual([]);
  });
});

describe("the options of a model request", () => {
  const places = [
    ["chats.options", (lines: string) => `[chats.options]\n${lines}\n${listed}`],
    [
      "models.a.options",
      (lines: string) => `[models.a.options]\n${lines}\n[models.a]\nuse = "zai/glm-4.6"\n${listed}`,
    ],
    [
      "agents.a.options",
      (lines: string) =>
        `[agents.a.options]\n${lines}\n[agents.a]\nmodel = "zai/glm-4.6"\n${listed}`,
    ],
  ] as const;

  test("can be any JSON, which is not changed", () => {
    const lines = `temperature = 0.0
max_output_tokens = 1_000
metadata = { team = "tools", "a.b" = "" }
text.format = { type = "json_schema", strict = false }
stop = [["a"], []]
empty = {}
`;
    expect(parseToml(chats("", `[chats.options]\n${lines}`)).chats.options).toEqual({
      temperature: 0,
      max_output_tokens: 1000,
      metadata: { team: "tools", "a.b": "" },
      text: { format: { type: "json_schema", strict: false } },
      stop: [["a"], []],
      empty: {},
    });
  });

  test.each(places)("of %s cannot have values that JSON does not have", (path, file) => {
    const what = "must be a JSON value, not a date, inf or nan; write it as a string";
    for (const [line, place] of [
      ["a = 2026-07-02", "a"],
      ["a = 2026-07-02T10:00:00Z", "a"],
      ["a = 10:00:00", "a"],
      ["a = { b = [1, inf] }", "a.b[1]"],
      ["a = { b = nan }", "a.b"],
    ])
      expect(listProblems(file(line ?? ""))).toEqual([`d.toml:2: ${path}.${place}: ${what}`]);
  });

  test.each(places)("of %s cannot be parameters that the gateway sets", (path, file) => {
    const reasons = {
      model: "there is a setting for it",
      input: "it is the conversation",
      messages: "it is the conversation",
      instructions: "there are settings for agents and chats",
      tools: "it is derived from tool_groups",
      stream: "responses are always streamed",
      store: "the gateway stores responses, not the upstream",
      include: "it depends on the chat",
      previous_response_id: "the complete conversation is sent",
      conversation: "the complete conversation is sent",
      background: "responses are always streamed",
    };
    const lines = Object.keys(reasons).map((name) => `${name} = []`);
    expect(listProblems(file(lines.join("\n")))).toEqual(
      Object.entries(reasons).map(
        ([name, reason], index) =>
          `d.toml:${index + 2}: ${path}.${name}: is set by the gateway (${reason}); remove it`,
      ),
    );
  });

  test("with Chat names are a warning that names the Responses parameter", () => {
    const lines = 'max_tokens = 1\nmax_completion_tokens = 1\nreasoning_effort = "low"\ntop_p = 1';
    const what = "is a Chat parameter; use";
    expect(parseToml(`[chats.options]\n${lines}`).warnings).toEqual([
      `d.toml:2: chats.options.max_tokens: ${what} max_output_tokens instead`,
      `d.toml:3: chats.options.max_completion_tokens: ${what} max_output_tokens instead`,
      `d.toml:4: chats.options.reasoning_effort: ${what} reasoning = { effort = "…" } instead`,
    ]);
  });
});
