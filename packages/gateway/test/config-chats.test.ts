import { describe, expect, test } from "vitest";
import { demoAgentNames } from "../src/config/chats.ts";
import { demoAgents } from "@deltawire/demo";
import { problemsIn, read, zai } from "./reading-config.ts";

const local =
  '[upstreams.local]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "chat"\nmodels = ["m"]\n';
const listed = `${zai}models = ["glm-4.6"]\n${local}`;
const reviewer = '[agents.reviewer]\nmodel = "zai/glm-4.6"\n';

/** Line 1 of the file is `[chats]`, line 2 its first setting. */
function chats(lines: string, rest = `${listed}${reviewer}`): string {
  return `[chats]\n${lines}\n\n${rest}`;
}

describe("new chats", () => {
  test("have a model or an agent, and not both", () => {
    expect(read(chats('model = "zai/glm-4.6"')).chats).toMatchObject({
      model: "zai/glm-4.6",
      agent: undefined,
    });
    expect(read(chats('agent = "reviewer"')).chats).toMatchObject({
      model: undefined,
      agent: "reviewer",
    });
    expect(problemsIn(chats('agent = "reviewer"\nmodel = "zai/glm-4.6"'))).toEqual([
      "d.toml:2: chats.agent: is there beside model; keep one of the two",
    ]);
  });

  test("may have a model that makes pictures", () => {
    const painter = `[models.painter]\nuse = "zai/glm-4.6"\ntype = "image-gen"\n${listed}`;
    expect(read(chats('model = "painter"', painter))).toMatchObject({
      chats: { model: "painter" },
      warnings: [],
    });
  });

  test.each([
    ['model = "zia/glm-4.6"', "model: is no model of this gateway; did you mean zai/glm-4.6?"],
    [
      'model = "reviewer"',
      'model: is an agent, and only a model can stand here; write agent = "reviewer"',
    ],
    ['agent = "reviewr"', 'agent: there is no agent "reviewr"; did you mean reviewer?'],
    ['agent = "glm"', 'agent: there is no agent "glm"; known are reviewer'],
    [
      'title_model = "reviewer"',
      'title_model: is an agent, and only a model can stand here; write "upstream/model"',
    ],
    ['tool_groups = ["tme"]', 'tool_groups[0]: there is no tool group "tme"; did you mean time?'],
    [
      'tool_groups = ["time", "files"]',
      'tool_groups[1]: files needs a folder; write folder = "…" under [tools.files]',
    ],
    ["turns = -1", "turns: is -1; write a number from 0 to 10000"],
    ["turns = 1.5", "turns: is a number; write a whole number"],
    ["rounds = 0", "rounds: is 0; write a number from 1 to 10000"],
    ['titles = "no"', "titles: is a text; write true or false"],
    [
      'privacy = ["email", "mail"]',
      'privacy[1]: is none of its words; write one of "email", "phone", "card", "key", "password", "id"; did you mean email?',
    ],
    [
      'privacy = ["name"]',
      'privacy[0]: is none of its words; write one of "email", "phone", "card", "key", "password", "id"',
    ],
    ["privacy = true", 'privacy: is true; write a list of words: ["…"]'],
    ["deleted_days = -1", "deleted_days: is -1; write a number from 0 to 36500"],
    [
      'time_zone = "Mars/Base"',
      'time_zone: there is no time zone "Mars/Base"; write a name such as Europe/Berlin',
    ],
    [
      'time_zone = "+01:00"',
      'time_zone: there is no time zone "+01:00"; write a name such as Europe/Berlin',
    ],
    ['exact_time = "yes"', "exact_time: is a text; write true or false"],
    ["turn = 5", "turn: is no setting; did you mean turns?"],
    ["options = []", "options: is a list; write a table: { name = … }"],
  ])("with %s are refused", (line, what) => {
    expect(problemsIn(chats(line))).toEqual([`d.toml:2: chats.${what}`]);
  });

  test("have the time zone of the system and no exact times, unless it is said", () => {
    expect(read("").chats).toMatchObject({ timeZone: undefined, exactTime: false });
    const said = read(chats('time_zone = "Asia/Tokyo"\nexact_time = true')).chats;
    expect(said).toMatchObject({ timeZone: "Asia/Tokyo", exactTime: true });
  });

  test("without any agent know none", () => {
    expect(problemsIn(chats('agent = "a"', listed))).toEqual([
      'd.toml:2: chats.agent: there is no agent "a"; known are none',
    ]);
    expect(read(chats('tool_groups = ["agents"]', listed)).warnings).toEqual([
      "d.toml:2: chats.tool_groups[0]: lets it ask agents, and there are none",
    ]);
  });

  test("of the demo may have its agents, where there are no others", () => {
    expect(demoAgents("m").map(({ name }) => name)).toEqual(demoAgentNames);
    expect(read(chats('agent = "demo-agent"', "")).chats.agent).toBe("demo-agent");
    expect(read(chats('tool_groups = ["agents"]', "")).warnings).toEqual([]);
    const mine = '[agents.mine]\nmodel = "demo/clean"';
    expect(problemsIn(chats('agent = "demo-agent"', mine))).toHaveLength(1);
  });

  test("do not suffer from another mistake in their agent", () => {
    expect(problemsIn(chats('agent = "a"', `${listed}[agents.a]\neffort = "low"`))).toEqual([
      expect.stringContaining("agents.a.model: is missing"),
    ]);
  });
});

describe("a model that has to chat", () => {
  const painter = (type: string) =>
    `[models.painter]\nuse = "zai/gpt-image-1"\n${type}\n${zai}${reviewer}`;
  const title = (type: string) => chats('title_model = "painter"', painter(type));
  const agent = (type: string) => `[agents.a]\nmodel = "painter"\n${painter(type)}`;

  test("is refused where the file says that it does not", () => {
    const what = "is of the type image-edit; name a model that chats";
    expect(problemsIn(title('type = "image-edit"'))).toEqual([
      `d.toml:2: chats.title_model: ${what}`,
    ]);
    expect(problemsIn(agent('type = "image-edit"'))).toEqual([`d.toml:2: agents.a.model: ${what}`]);
  });

  test("is a warning where only its name says so, which the file can deny", () => {
    const what =
      'is a model of the type image-gen by its name; if it chats, write type = "chat" for it in [models]';
    expect(read(title("")).warnings).toEqual([`d.toml:2: chats.title_model: ${what}`]);
    expect(read(agent("")).warnings).toEqual([`d.toml:2: agents.a.model: ${what}`]);
    expect(read(chats('title_model = "demo/listener"', "")).warnings).toHaveLength(1);
    expect(read(title('type = "chat"')).warnings).toEqual([]);
    expect(read(agent('type = "chat"')).warnings).toEqual([]);
  });
});

describe("options", () => {
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

  test("are any JSON, just as it is written", () => {
    const lines = `temperature = 0.0
max_output_tokens = 1_000
metadata = { team = "tools", "a.b" = "" }
text.format = { type = "json_schema", strict = false }
stop = [["a"], []]
empty = {}
`;
    expect(read(chats("", `[chats.options]\n${lines}`)).chats.options).toEqual({
      temperature: 0,
      max_output_tokens: 1000,
      metadata: { team: "tools", "a.b": "" },
      text: { format: { type: "json_schema", strict: false } },
      stop: [["a"], []],
      empty: {},
    });
  });

  test.each(places)("of %s have no value that JSON lacks", (path, file) => {
    const what = "JSON has no such value; write a text";
    for (const [line, place] of [
      ["a = 2026-07-02", "a"],
      ["a = 2026-07-02T10:00:00Z", "a"],
      ["a = 10:00:00", "a"],
      ["a = { b = [1, inf] }", "a.b[1]"],
      ["a = { b = nan }", "a.b"],
    ])
      expect(problemsIn(file(line ?? ""))).toEqual([`d.toml:2: ${path}.${place}: ${what}`]);
  });

  test.each(places)("of %s are none that the gateway sets", (path, file) => {
    const reasons = {
      model: "it is named beside the options",
      input: "it is the conversation",
      messages: "they are the conversation",
      instructions: "they are those of the agent and the chat",
      tools: "they come from tool_groups",
      stream: "answers are always streamed",
      store: "answers are kept here, and not by the upstream",
      include: "it follows from what a chat needs",
      previous_response_id: "the whole conversation is sent",
      conversation: "the whole conversation is sent",
      background: "answers are always streamed",
    };
    const lines = Object.keys(reasons).map((name) => `${name} = []`);
    expect(problemsIn(file(lines.join("\n")))).toEqual(
      Object.entries(reasons).map(
        ([name, reason], index) =>
          `d.toml:${index + 2}: ${path}.${name}: is set by the gateway itself: ${reason}; take it out`,
      ),
    );
  });

  test("by Chat's names are a warning, with the right name", () => {
    const lines = 'max_tokens = 1\nmax_completion_tokens = 1\nreasoning_effort = "low"\ntop_p = 1';
    const what = "is a name of the Chat wire; write";
    expect(read(`[chats.options]\n${lines}`).warnings).toEqual([
      `d.toml:2: chats.options.max_tokens: ${what} max_output_tokens`,
      `d.toml:3: chats.options.max_completion_tokens: ${what} max_output_tokens`,
      `d.toml:4: chats.options.reasoning_effort: ${what} reasoning = { effort = "…" }`,
    ]);
  });
});
