import { describe, expect, test } from "vitest";
import type { AgentConfig } from "../src/config/config.ts";
import { readConfig } from "../src/config/read.ts";
import { problemsIn, read, refusalOf, zai } from "./reading-config.ts";

const local =
  '[upstreams.local]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "chat"\nmodels = ["qwen3-coder"]\n';
const listed = `${zai}models = ["glm-4.6"]\n${local}`;

/** Line 1 of the file is `[agents.a]`, line 2 its first setting. */
function agent(lines: string, rest = listed): string {
  return `[agents.a]\n${lines}\n\n${rest}`;
}

const glm = 'model = "zai/glm-4.6"';

function agentIn(toml: string, name = "a"): AgentConfig {
  const { agents, warnings } = read(toml);
  expect(warnings).toEqual([]);
  const found = agents.get(name);
  if (found === undefined) throw new Error(`there is no agent ${name}`);
  return found;
}

test("an agent needs a model and nothing else", () => {
  expect(agentIn(agent(glm))).toEqual({
    name: "a",
    model: "zai/glm-4.6",
    description: "",
    instructions: "",
    toolGroups: [],
    agents: [],
    limits: { rounds: 10, depth: 3 },
    atLimit: "finish",
    reasoning: "summary",
    effort: undefined,
    contextWindow: undefined,
    approvalSeconds: undefined,
    options: {},
  });
  expect(problemsIn(agent('effort = "high"'))).toEqual([
    'd.toml:1: agents.a.model: is missing; write model = "upstream/model", or a name of [models]',
  ]);
});

test("agents are in the order of the file", () => {
  const toml = `[agents.z]\n${glm}\n[agents.b]\n${glm}\n${listed}`;
  expect([...read(toml).agents.keys()]).toEqual(["z", "b"]);
});

test.each([
  ["max_rounds = 0", "max_rounds: is 0; write a number from 1 to 10000"],
  ["max_tokens = 1.5", "max_tokens: is a number; write a whole number"],
  ["max_seconds = 0", "max_seconds: is 0; write a number at least 1"],
  ["max_depth = -1", "max_depth: is -1; write a number from 0 to 20"],
  ["approval_seconds = 0", "approval_seconds: is 0; write a number at least 1"],
  ["context_window = 0", "context_window: is 0; write a number at least 1"],
  [
    'at_limit = "finsh"',
    'at_limit: is none of its words; write one of "finish", "ask"; did you mean finish?',
  ],
  ['reasoning = "text"', 'reasoning: is none of its words; write one of "summary", "raw"'],
  ['tool_group = ["web"]', "tool_group: is no setting; did you mean tool_groups?"],
  ['tool_groups = "web"', 'tool_groups: is a text; write a list of texts: ["…", "…"]'],
  ['instruction = "x"', "instruction: is no setting; did you mean instructions?"],
])("%s is refused", (line, what) => {
  expect(problemsIn(agent(`${line}\n${glm}`))).toEqual([`d.toml:2: agents.a.${what}`]);
});

describe("an agent's name", () => {
  const named = (name: string, rest = listed) => `[agents.${name}]\n${glm}\n\n${rest}`;

  test.each(["a", "A-1_b", `a${"b".repeat(63)}`])("may be %s", (name) => {
    expect([...read(named(name)).agents.keys()]).toEqual([name]);
  });

  test.each(["1a", "_a", '"a b"', '"a/b"', '"zai/x"', '""', `a${"b".repeat(64)}`, '"ä"'])(
    "may not be %s",
    (name) => {
      expect(problemsIn(named(name))).toEqual([
        `d.toml:1: agents.${name}: is no name for an agent; begin with a letter and use letters, digits, - and _ only, 64 at most`,
      ]);
    },
  );

  test("may not be one of [models], for it is a model name too", () => {
    expect(problemsIn(named("best", `[models]\nbest = "zai/glm-4.6"\n${listed}`))).toEqual([
      "d.toml:1: agents.best: is a name of [models] too, and clients ask for both; rename one of them",
    ]);
  });

  test("that an upstream has for a model is a warning", () => {
    expect(read(named("qwen3-coder")).warnings).toEqual([
      "d.toml:1: agents.qwen3-coder: is the name of a model of local too, which clients now have to call local/qwen3-coder",
    ]);
  });

  test("is the key of a table", () => {
    expect(problemsIn(`agents.a = "zai/glm-4.6"\n${listed}`)).toEqual([
      "d.toml:1: agents.a: is a text; write a table: [agents.a]",
    ]);
    expect(problemsIn(`agents = []\n${listed}`)).toEqual([
      "d.toml:1: agents: is a list; write a table: [agents]",
    ]);
  });
});

describe("an agent's model", () => {
  const model = (name: string, rest: string) => agent(`model = "${name}"`, rest);

  test.each([
    ["a name of [models]", "best", `[models]\nbest = "zai/glm-4.6"\n${listed}`],
    ["upstream/model", "zai/glm-4.6", listed],
    ["a model that an upstream lists", "qwen3-coder", listed],
    ["a model of an upstream that is asked for its models", "zai/anything", zai],
    ["any name, with a single upstream that is asked", "anything", zai],
    ["any name that an upstream may turn out to have", "anything", `${zai}${local}`],
    ["a name with a slash that an upstream may have", "vendor/x", `${zai}${local}`],
    ["a model of the demo", "demo/clean", ""],
    ["a model of the demo by its plain name", "clean", ""],
  ])("may be %s", (_, name, rest) => {
    expect(agentIn(model(name, rest)).model).toBe(name);
  });

  test.each([
    ["glm-4.7", "did you mean glm-4.6?"],
    ["zia/glm-4.6", "did you mean zai/glm-4.6?"],
    ["gpt-5.5", 'write "upstream/model", or a name of [models]'],
    ["zai/", "did you mean zai/glm-4.6?"],
    ["bests", "did you mean best?"],
  ])("may not be %s where all models are known", (name, advice) => {
    expect(problemsIn(model(name, `${listed}[models]\nbest = "zai/glm-4.6"`))).toEqual([
      `d.toml:2: agents.a.model: is no model of this gateway; ${advice}`,
    ]);
  });

  test("may not be there where there is no upstream", () => {
    expect(problemsIn(model("x", "[server]\ndemo = false"))).toEqual([
      'd.toml:2: agents.a.model: is no model of this gateway; write "upstream/model", or a name of [models]',
    ]);
  });

  test.each([
    ["zai/glm-4.7", listed, 'zai does not list "glm-4.7" in its models; did you mean zai/glm-4.6?'],
    [
      "gpt",
      local,
      'local does not list "gpt" in its models; requests for it are sent all the same',
    ],
    ["zia/glm-4.6", `${zai}${local}`, 'there is no upstream "zia"; did you mean zai/glm-4.6?'],
  ])("%s is a warning where it may yet work", (name, rest, warning) => {
    expect(read(model(name, rest)).warnings).toEqual([`d.toml:2: agents.a.model: ${warning}`]);
  });

  test("may not be an agent", () => {
    const toml = `[agents.a]\nmodel = "b"\n[agents.b]\nmodel = "b"\n${listed}`;
    const what = "is an agent, and only a model can stand here";
    expect(problemsIn(toml)).toEqual([
      `d.toml:2: agents.a.model: ${what}; to let it be asked for help write agents = ["b"]`,
      `d.toml:4: agents.b.model: ${what}; write "upstream/model"`,
    ]);
  });

  test("does not suffer from another mistake in its upstream", () => {
    expect(problemsIn(agent(glm, `${local}[upstreams.zai]\nspeaks = "chat"`))).toEqual([
      expect.stringMatching(/upstreams\.zai\.base_url: is missing/),
    ]);
  });
});

describe("an agent's limit of cost", () => {
  test("needs a model that has a price", () => {
    const priced = `[models.best]\nuse = "zai/glm-4.6"\nprice_input = 1\nprice_output = 2\n${listed}`;
    expect(agentIn(agent('model = "best"\nmax_cost = 0.25', priced)).limits).toEqual({
      rounds: 10,
      depth: 3,
      cost: 0.25,
    });
    expect(problemsIn(agent(`max_cost = 0.25\n${glm}`, priced))).toEqual([
      "d.toml:2: agents.a.max_cost: cannot be kept, for the model has no price; name it in [models] with price_input and price_output",
    ]);
  });

  test("is more than nothing", () => {
    expect(problemsIn(agent(`max_cost = 0\n${glm}`))).toEqual([
      "d.toml:2: agents.a.max_cost: is 0; write a number at least 0.0001",
    ]);
  });
});

describe("an agent's instructions", () => {
  const file = (path: string) => agent(`${glm}\ninstructions_file = "${path}"`);
  const withFile = (toml: string, readFile: (path: string) => string) =>
    readConfig(toml, { file: "d.toml", env: {}, folder: "/etc/dw", home: "/u/me", readFile });
  const failing = (code: string | undefined) => () => {
    throw Object.assign(new Error("no"), code === undefined ? {} : { code });
  };

  test("may stand in the file", () => {
    expect(agentIn(agent(`${glm}\ninstructions = """\nBe\nbrief."""`)).instructions).toBe(
      "Be\nbrief.",
    );
  });

  test.each([
    ["a.md", "/etc/dw/a.md"],
    ["prompts/a.md", "/etc/dw/prompts/a.md"],
    ["../a.md", "/etc/a.md"],
    ["/srv/a.md", "/srv/a.md"],
    ["~/a.md", "/u/me/a.md"],
    ["~a.md", "/etc/dw/~a.md"],
  ])("of %s are those of %s", (path, expected) => {
    const { agents } = withFile(file(path), (asked) => `text of ${asked}`);
    expect(agents.get("a")?.instructions).toBe(`text of ${expected}`);
  });

  test.each([
    [
      "ENOENT",
      "does not exist; give the path of a file, seen from the folder of the configuration",
    ],
    ["EISDIR", "is a folder; give the path of a file"],
    ["EACCES", "may not be read; change its permissions"],
    ["EIO", "cannot be read (EIO)"],
  ])("in a file that fails with %s are refused, with the line", (code, what) => {
    expect(refusalOf(() => withFile(file("a.md"), failing(code))).problems).toEqual([
      `d.toml:3: agents.a.instructions_file: /etc/dw/a.md ${what}`,
    ]);
  });

  test("in an empty file are refused", () => {
    expect(refusalOf(() => withFile(file("a.md"), () => "\uFEFF \n")).problems).toEqual([
      "d.toml:3: agents.a.instructions_file: /etc/dw/a.md is an empty file; write a text into it, or leave it out",
    ]);
  });

  test("do not hide a failure that is none of the file's", () => {
    expect(() => withFile(file("a.md"), failing(undefined))).toThrow("no");
  });

  test("are in one place", () => {
    expect(problemsIn(agent(`${glm}\ninstructions_file = "a.md"\ninstructions = "x"`))).toEqual([
      "d.toml:3: agents.a.instructions_file: is there beside instructions; keep one of the two",
    ]);
  });

  test("are not looked for where only the text is checked", () => {
    expect(agentIn(file("a.md")).instructions).toBe("");
  });
});

describe("an agent's tool groups", () => {
  const tools = `[tools.files]\nfolder = "/w"\n[mcp.tickets]\ncommand = "t"\n${listed}`;
  const groups = (list: string, rest = tools) => agent(`tool_groups = [${list}]\n${glm}`, rest);

  test("are built in, or servers of [mcp], each once", () => {
    const all = '"files", "shell", "web", "time", "tickets", "web"';
    expect(agentIn(groups(all)).toolGroups).toEqual(["files", "shell", "web", "time", "tickets"]);
  });

  test.each([
    ['"fles"', 'tool_groups[0]: there is no tool group "fles"; did you mean files?'],
    ['"web", "ticket"', 'tool_groups[1]: there is no tool group "ticket"; did you mean tickets?'],
    [
      '"browser"',
      'tool_groups[0]: there is no tool group "browser"; known are files, shell, web, time, agents, tickets',
    ],
  ])("may not be %s", (list, what) => {
    expect(problemsIn(groups(list))).toEqual([`d.toml:2: agents.a.${what}`]);
  });

  test("files and shell need a folder", () => {
    expect(problemsIn(groups('"files", "shell"', listed))).toEqual([
      'd.toml:2: agents.a.tool_groups[0]: files needs a folder; write folder = "…" under [tools.files]',
      'd.toml:2: agents.a.tool_groups[1]: shell needs a folder; write folder = "…" under [tools.shell]',
    ]);
    expect(problemsIn(groups('"files"', `[tools.shell]\nfolder = "/w"\n${listed}`))).toHaveLength(
      1,
    );
  });

  test.each([
    ['"files", "shell"', "[tools.files]\nread_only = true", "tools.files.folder: is missing"],
    ['"files", "shell"', "[tools.files]\nfolder = 1", "tools.files.folder: is a whole number"],
    ['"shell"', "[tools.shell]\nfolder = 1", "tools.shell.folder: is a whole number"],
    ['"tickets"', "[mcp.tickets]", "mcp.tickets: has no server"],
  ])("%s do not suffer twice from %s", (list, section, what) => {
    expect(problemsIn(groups(list, `${section}\n${listed}`))).toEqual([
      expect.stringContaining(what),
    ]);
  });
});

describe("the agents that an agent may ask", () => {
  const others = `[agents.b]\n${glm}\n[agents.c]\n${glm}\n${listed}`;
  const asking = (lines: string, rest = others) => agent(`${lines}\n${glm}`, rest);

  test("are those that it names, with the tool to ask them", () => {
    expect(agentIn(asking('agents = ["c", "c"]'))).toMatchObject({
      agents: ["c"],
      toolGroups: ["agents"],
    });
    expect(agentIn(asking('agents = ["b"]\ntool_groups = ["agents", "time"]'))).toMatchObject({
      agents: ["b"],
      toolGroups: ["time", "agents"],
    });
  });

  test("are all others where it has the tool and names none", () => {
    expect(agentIn(asking('tool_groups = ["agents"]'))).toMatchObject({
      agents: ["b", "c"],
      toolGroups: ["agents"],
    });
  });

  test("are none where it says so, or says nothing", () => {
    const none = { agents: [], toolGroups: [] };
    expect(agentIn(asking('tool_groups = ["agents"]\nagents = []'))).toMatchObject(none);
    expect(agentIn(asking(""))).toMatchObject(none);
  });

  test("may ask back", () => {
    const toml = `[agents.a]\n${glm}\nagents = ["b"]\n[agents.b]\n${glm}\nagents = ["a"]\n${listed}`;
    expect(agentIn(toml, "b").agents).toEqual(["a"]);
  });

  test.each([
    ['agents = ["a"]', "agents[0]: is the agent itself; take it out"],
    ['agents = ["b", "libary"]', 'agents[1]: there is no agent "libary"; known are b, c'],
  ])("may not be %s", (line, what) => {
    expect(problemsIn(asking(line))).toEqual([`d.toml:2: agents.a.${what}`]);
  });

  test("that are mistyped get the nearest name", () => {
    const toml = asking('agents = ["libary"]', `[agents.library]\n${glm}\n${listed}`);
    expect(problemsIn(toml)).toEqual([
      'd.toml:2: agents.a.agents[0]: there is no agent "libary"; did you mean library?',
    ]);
    expect(problemsIn(asking('agents = ["b"]', listed))).toEqual([
      'd.toml:2: agents.a.agents[0]: there is no agent "b"; known are none',
    ]);
  });

  test("that are none, where it has the tool, are a warning", () => {
    const toml = asking('tool_groups = ["web", "agents"]', listed);
    expect(read(toml).agents.get("a")?.toolGroups).toEqual(["web"]);
    expect(read(toml).warnings).toEqual([
      "d.toml:2: agents.a.tool_groups[1]: lets it ask other agents, and there are none",
    ]);
  });
});
