import { describe, expect, test } from "vitest";
import type { AgentConfig } from "../src/config/config.ts";
import { parseConfig } from "../src/config/parse-config.ts";
import {
  listProblems,
  parseToml,
  catchConfigError,
  zaiToml,
  formatProblem,
} from "./config-fixture.ts";

const local =
  '[upstreams.local]\nbase_url = "http://127.0.0.1:8000/v1"\nspeaks = "chat"\nmodels = ["qwen3-coder"]\n';
const listed = `${zaiToml}models = ["glm-4.6"]\n${local}`;

/** Returns a file with `[agents.a]` on line 1 and its first setting on line 2. */
function agent(lines: string, rest = listed): string {
  return `[agents.a]\n${lines}\n\n${rest}`;
}

const glm = 'model = "zai/glm-4.6"';

function parseAgent(toml: string, name = "a"): AgentConfig {
  const { agents, warnings } = parseToml(toml);
  expect(warnings).toEqual([]);
  const agent = agents.get(name);
  if (agent === undefined) throw new Error(`no agent ${name}`);
  return agent;
}

test("the only required setting of an agent is its model", () => {
  expect(parseAgent(agent(glm))).toEqual({
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
  expect(listProblems(agent('effort = "high"'))).toEqual([
    'd.toml:1: agents.a.model: missing; write model = "upstream/model", or a name from [models]',
  ]);
});

test("agents are in the order of the file", () => {
  const toml = `[agents.z]\n${glm}\n[agents.b]\n${glm}\n${listed}`;
  expect([...parseToml(toml).agents.keys()]).toEqual(["z", "b"]);
});

test.each([
  ["max_rounds = 0", "max_rounds: must be from 1 to 10000, got 0"],
  ["max_tokens = 1.5", "max_tokens: must be an integer, got a number"],
  ["max_seconds = 0", "max_seconds: must be at least 1, got 0"],
  ["max_depth = -1", "max_depth: must be from 0 to 20, got -1"],
  ["approval_seconds = 0", "approval_seconds: must be at least 1, got 0"],
  ["context_window = 0", "context_window: must be at least 1, got 0"],
  ['at_limit = "finsh"', 'at_limit: must be one of "finish", "ask" (did you mean finish?)'],
  ['reasoning = "text"', 'reasoning: must be one of "summary", "raw"'],
  ['tool_group = ["web"]', "unknown setting tool_group (did you mean tool_groups?)"],
  [
    'tool_groups = "web"',
    'tool_groups: must be a list of strings such as ["…", "…"], got a string',
  ],
  ['instruction = "x"', "unknown setting instruction (did you mean instructions?)"],
])("%s is an error", (line, what) => {
  expect(listProblems(agent(`${line}\n${glm}`))).toEqual([formatProblem(2, "agents.a", what)]);
});

describe("the name of an agent", () => {
  const named = (name: string, rest = listed) => `[agents.${name}]\n${glm}\n\n${rest}`;

  test.each(["a", "A-1_b", `a${"b".repeat(63)}`])("may be %s", (name) => {
    expect([...parseToml(named(name)).agents.keys()]).toEqual([name]);
  });

  test.each(["1a", "_a", '"a b"', '"a/b"', '"zai/x"', '""', `a${"b".repeat(64)}`, '"ä"'])(
    "may not be %s",
    (name) => {
      expect(listProblems(named(name))).toEqual([
        `d.toml:1: agents.${name}: invalid agent name; start with a letter and use only letters, digits, - and _, at most 64 characters`,
      ]);
    },
  );

  test("must differ from the names in [models], because it is a model name too", () => {
    expect(listProblems(named("best", `[models]\nbest = "zai/glm-4.6"\n${listed}`))).toEqual([
      "d.toml:1: agents.best: is also a name in [models]; rename one of them",
    ]);
  });

  test("that is also a model of an upstream is a warning", () => {
    expect(parseToml(named("qwen3-coder")).warnings).toEqual([
      "d.toml:1: agents.qwen3-coder: is also a model of local, which clients must now request as local/qwen3-coder",
    ]);
  });

  test("needs a table", () => {
    expect(listProblems(`agents.a = "zai/glm-4.6"\n${listed}`)).toEqual([
      "d.toml:1: agents.a: must be a table ([agents.a]), got a string",
    ]);
    expect(listProblems(`agents = []\n${listed}`)).toEqual([
      "d.toml:1: agents: must be a table ([agents]), got a list",
    ]);
  });
});

describe("an agent's model", () => {
  const model = (name: string, rest: string) => agent(`model = "${name}"`, rest);

  test.each([
    ["a name from [models]", "best", `[models]\nbest = "zai/glm-4.6"\n${listed}`],
    ["upstream/model", "zai/glm-4.6", listed],
    ["a model that an upstream lists", "qwen3-coder", listed],
    ["a model of an upstream whose list is fetched", "zai/anything", zaiToml],
    ["any name, with a single upstream whose list is fetched", "anything", zaiToml],
    ["any name that a fetched list may contain", "anything", `${zaiToml}${local}`],
    ["a name with a slash that a fetched list may contain", "vendor/x", `${zaiToml}${local}`],
    ["a model of the demo", "demo/clean", ""],
    ["a model of the demo by its plain name", "clean", ""],
  ])("may be %s", (_, name, rest) => {
    expect(parseAgent(model(name, rest)).model).toBe(name);
  });

  test.each([
    ["glm-4.7", " (did you mean glm-4.6?)"],
    ["zia/glm-4.6", " (did you mean zai/glm-4.6?)"],
    ["gpt-5.5", '; write "upstream/model" or a name from [models]'],
    ["zai/", " (did you mean zai/glm-4.6?)"],
    ["bests", " (did you mean best?)"],
  ])("is an error if it is %s and all models are known", (name, advice) => {
    expect(listProblems(model(name, `${listed}[models]\nbest = "zai/glm-4.6"`))).toEqual([
      `d.toml:2: agents.a.model: unknown model${advice}`,
    ]);
  });

  test("is an error if there is no upstream", () => {
    expect(listProblems(model("x", "[server]\ndemo = false"))).toEqual([
      'd.toml:2: agents.a.model: unknown model; write "upstream/model" or a name from [models]',
    ]);
  });

  test.each([
    ["zai/glm-4.7", listed, '"glm-4.7" is not in the models of zai (did you mean zai/glm-4.6?)'],
    ["gpt", local, '"gpt" is not in the models of local; requests for it are sent anyway'],
    ["zia/glm-4.6", `${zaiToml}${local}`, 'unknown upstream "zia" (did you mean zai/glm-4.6?)'],
  ])("is a warning if it may still work: %s", (name, rest, warning) => {
    expect(parseToml(model(name, rest)).warnings).toEqual([`d.toml:2: agents.a.model: ${warning}`]);
  });

  test("must not be an agent", () => {
    const toml = `[agents.a]\nmodel = "b"\n[agents.b]\nmodel = "b"\n${listed}`;
    const what = "must be a model, not an agent";
    expect(listProblems(toml)).toEqual([
      `d.toml:2: agents.a.model: ${what}; to call it as a sub-agent, write agents = ["b"]`,
      `d.toml:4: agents.b.model: ${what}; write "upstream/model"`,
    ]);
  });

  test("is not reported again if its upstream has an error", () => {
    expect(listProblems(agent(glm, `${local}[upstreams.zai]\nspeaks = "chat"`))).toEqual([
      expect.stringMatching(/upstreams\.zai\.base_url: missing/),
    ]);
  });
});

describe("an agent's max_cost", () => {
  test("requires a model with a price", () => {
    const priced = `[models.best]\nuse = "zai/glm-4.6"\nprice_input = 1\nprice_output = 2\n${listed}`;
    expect(parseAgent(agent('model = "best"\nmax_cost = 0.25', priced)).limits).toEqual({
      rounds: 10,
      depth: 3,
      cost: 0.25,
    });
    expect(listProblems(agent(`max_cost = 0.25\n${glm}`, priced))).toEqual([
      "d.toml:2: agents.a.max_cost: the model has no price; add it to [models] with price_input and price_output",
    ]);
  });

  test("must be positive", () => {
    expect(listProblems(agent(`max_cost = 0\n${glm}`))).toEqual([
      "d.toml:2: agents.a.max_cost: must be at least 0.0001, got 0",
    ]);
  });
});

describe("an agent's instructions", () => {
  const file = (path: string) => agent(`${glm}\ninstructions_file = "${path}"`);
  const withFile = (toml: string, readFile: (path: string) => string) =>
    parseConfig(toml, { file: "d.toml", env: {}, folder: "/etc/dw", home: "/u/me", readFile });
  const failing = (code: string | undefined) => () => {
    throw Object.assign(new Error("no"), code === undefined ? {} : { code });
  };

  test("can be in the configuration", () => {
    expect(parseAgent(agent(`${glm}\ninstructions = """\nBe\nbrief."""`)).instructions).toBe(
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
  ])("in an instructions_file of %s are read from %s", (path, expected) => {
    const { agents } = withFile(file(path), (resolved) => `text of ${resolved}`);
    expect(agents.get("a")?.instructions).toBe(`text of ${expected}`);
  });

  test.each([
    ["ENOENT", "does not exist; paths are relative to the folder of the configuration"],
    ["EISDIR", "is a folder; set the path of a file"],
    ["EACCES", "cannot be read; check its permissions"],
    ["EIO", "cannot be read (EIO)"],
  ])("in a file that cannot be read because of %s are an error with the line", (code, what) => {
    expect(catchConfigError(() => withFile(file("a.md"), failing(code))).problems).toEqual([
      `d.toml:3: agents.a.instructions_file: /etc/dw/a.md ${what}`,
    ]);
  });

  test("in an empty file are an error", () => {
    expect(catchConfigError(() => withFile(file("a.md"), () => "\uFEFF \n")).problems).toEqual([
      "d.toml:3: agents.a.instructions_file: /etc/dw/a.md is empty; add text to it, or remove the setting",
    ]);
  });

  test("do not hide errors that are not file system errors", () => {
    expect(() => withFile(file("a.md"), failing(undefined))).toThrow("no");
  });

  test("cannot be in both places", () => {
    expect(listProblems(agent(`${glm}\ninstructions_file = "a.md"\ninstructions = "x"`))).toEqual([
      "d.toml:3: agents.a.instructions_file: cannot be combined with instructions; remove one of them",
    ]);
  });

  test("are not read from a file if only the configuration text is checked", () => {
    expect(parseAgent(file("a.md")).instructions).toBe("");
  });
});

describe("an agent's tool groups", () => {
  const tools = `[tools.files]\nfolder = "/w"\n[mcp.tickets]\ncommand = "t"\n${listed}`;
  const groups = (list: string, rest = tools) => agent(`tool_groups = [${list}]\n${glm}`, rest);

  test("are built-in groups and servers of [mcp], without duplicates", () => {
    const all = '"files", "shell", "web", "time", "tickets", "web"';
    expect(parseAgent(groups(all)).toolGroups).toEqual([
      "files",
      "shell",
      "web",
      "time",
      "tickets",
    ]);
  });

  test.each([
    ['"fles"', 'tool_groups[0]: unknown tool group "fles" (did you mean files?)'],
    ['"web", "ticket"', 'tool_groups[1]: unknown tool group "ticket" (did you mean tickets?)'],
    [
      '"browser"',
      'tool_groups[0]: unknown tool group "browser"; known groups: files, shell, web, time, agents, tickets',
    ],
  ])("cannot be %s", (list, what) => {
    expect(listProblems(groups(list))).toEqual([`d.toml:2: agents.a.${what}`]);
  });

  test("must have a folder if they are files or shell", () => {
    expect(listProblems(groups('"files", "shell"', listed))).toEqual([
      'd.toml:2: agents.a.tool_groups[0]: files needs a folder; write folder = "…" under [tools.files]',
      'd.toml:2: agents.a.tool_groups[1]: shell needs a folder; write folder = "…" under [tools.shell]',
    ]);
    expect(listProblems(groups('"files"', `[tools.shell]\nfolder = "/w"\n${listed}`))).toHaveLength(
      1,
    );
  });

  test.each([
    ['"files", "shell"', "[tools.files]\nread_only = true", "tools.files.folder: missing"],
    [
      '"files", "shell"',
      "[tools.files]\nfolder = 1",
      "tools.files.folder: must be a string in quotes, got an integer",
    ],
    [
      '"shell"',
      "[tools.shell]\nfolder = 1",
      "tools.shell.folder: must be a string in quotes, got an integer",
    ],
    ['"tickets"', "[mcp.tickets]", "mcp.tickets: missing command or url"],
  ])(
    "are not reported again if their own table has an error: %s with %s",
    (list, section, what) => {
      expect(listProblems(groups(list, `${section}\n${listed}`))).toEqual([
        expect.stringContaining(what),
      ]);
    },
  );
});

describe("the agents that an agent may call", () => {
  const others = `[agents.b]\n${glm}\n[agents.c]\n${glm}\n${listed}`;
  const asking = (lines: string, rest = others) => agent(`${lines}\n${glm}`, rest);

  test("are those in its list, which also adds the tool group", () => {
    expect(parseAgent(asking('agents = ["c", "c"]'))).toMatchObject({
      agents: ["c"],
      toolGroups: ["agents"],
    });
    expect(parseAgent(asking('agents = ["b"]\ntool_groups = ["agents", "time"]'))).toMatchObject({
      agents: ["b"],
      toolGroups: ["time", "agents"],
    });
  });

  test("are all others if it has the tool group and no list", () => {
    expect(parseAgent(asking('tool_groups = ["agents"]'))).toMatchObject({
      agents: ["b", "c"],
      toolGroups: ["agents"],
    });
  });

  test("are none with an empty list, or without list and tool group", () => {
    const none = { agents: [], toolGroups: [] };
    expect(parseAgent(asking('tool_groups = ["agents"]\nagents = []'))).toMatchObject(none);
    expect(parseAgent(asking(""))).toMatchObject(none);
  });

  test("may call it in turn", () => {
    const toml = `[agents.a]\n${glm}\nagents = ["b"]\n[agents.b]\n${glm}\nagents = ["a"]\n${listed}`;
    expect(parseAgent(toml, "b").agents).toEqual(["a"]);
  });

  test.each([
    ['agents = ["a"]', "agents[0]: an agent cannot call itself; remove it"],
    ['agents = ["b", "libary"]', 'agents[1]: unknown agent "libary"; known agents: b, c'],
  ])("may not be %s", (line, what) => {
    expect(listProblems(asking(line))).toEqual([`d.toml:2: agents.a.${what}`]);
  });

  test("get a suggestion if they are misspelled", () => {
    const toml = asking('agents = ["libary"]', `[agents.library]\n${glm}\n${listed}`);
    expect(listProblems(toml)).toEqual([
      'd.toml:2: agents.a.agents[0]: unknown agent "libary" (did you mean library?)',
    ]);
    expect(listProblems(asking('agents = ["b"]', listed))).toEqual([
      'd.toml:2: agents.a.agents[0]: unknown agent "b"; known agents: none',
    ]);
  });

  test("are a warning if it has the tool group and there are no other agents", () => {
    const toml = asking('tool_groups = ["web", "agents"]', listed);
    expect(parseToml(toml).agents.get("a")?.toolGroups).toEqual(["web"]);
    expect(parseToml(toml).warnings).toEqual([
      "d.toml:2: agents.a.tool_groups[1]: there are no other agents to call",
    ]);
  });
});
