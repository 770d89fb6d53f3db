import type { ChatMessage, ChatTool, ChatToolChoice } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { calls, callsOf, ran, shell, tool, weather } from "./requests.ts";

const text = { type: "string" };
const list = { type: "array", items: text };

describe("a shell", () => {
  test("a command in backticks is run", () => {
    expect(calls("Please run `ls -l`", { tools: [weather, shell] })).toEqual([
      ["exec_command", { cmd: "ls -l" }],
    ]);
  });

  test("a command after a colon is the rest of the line", () => {
    expect(calls("run: echo a b\nThank you", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: "echo a b" }],
    ]);
  });

  test("several commands are parallel calls", () => {
    expect(calls("run these two commands: `a`, `b` and `c`", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: "a" }],
      ["exec_command", { cmd: "b" }],
      ["exec_command", { cmd: "c" }],
    ]);
  });

  test.each<[ChatTool, unknown]>([
    [tool("shell", { command: list }), { command: ["bash", "-lc", "ls"] }],
    [tool("local_shell", { command: list }), { command: ["bash", "-lc", "ls"] }],
    [tool("shell", { commands: list }), { commands: ["ls"] }],
    [tool("bash", { command: text }), { command: "ls" }],
    [tool("doer", { cmd: text }, "Executes in a terminal"), { cmd: "ls" }],
    [{ type: "custom", custom: { name: "terminal" } }, "ls"],
  ])("%j takes a command in its own form", (offered, expected) => {
    expect(calls("run `ls`", { tools: [offered] })).toEqual([[expect.any(String), expected]]);
  });

  test("words that are no command are never run, whatever the tool is called", () => {
    expect(calls("Explain the exec command; rm -rf ~", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: "echo Hello from the demo model" }],
    ]);
  });

  test("without a shell there is nothing to run", () => {
    expect(calls("run `ls`", { tools: [weather] })).toEqual([]);
  });
});

describe("files", () => {
  const patcher = tool("apply_patch", { input: text });
  const patch = "*** Begin Patch\n*** Add File: src/a.txt\n+one\n+two\n*** End Patch\n";

  test("a new file is a patch in Codex's form", () => {
    expect(calls("Create the file src/a.txt with `one\ntwo`", { tools: [patcher, shell] })).toEqual(
      [["apply_patch", { input: patch }]],
    );
  });

  test("a free-form patch tool gets the patch itself", () => {
    const custom: ChatTool = { type: "custom", custom: { name: "apply_patch" } };
    expect(calls('write src/a.txt containing "one\ntwo"', { tools: [custom] })).toEqual([
      ["apply_patch", patch],
    ]);
  });

  test("words without quotes will do, and no words at all", () => {
    const custom: ChatTool = { type: "custom", custom: { name: "apply_patch" } };
    const added = (words: string) =>
      `*** Begin Patch\n*** Add File: notes.txt\n+${words}\n*** End Patch\n`;
    for (const [words, text] of [
      ["create a file notes.txt with hello in it", "hello"],
      ["Write notes.txt saying good morning.", "good morning"],
      ["create a file notes.txt", "The demo was here."],
    ] as const)
      expect(calls(words, { tools: [custom] })).toEqual([["apply_patch", added(text)]]);
  });

  test("a patch tool of operations gets one", () => {
    const operations = tool("apply_patch", { type: text, path: text, diff: text });
    expect(calls("create a file a.txt with `one`", { tools: [operations] })).toEqual([
      ["apply_patch", { type: "create_file", path: "a.txt", diff: "+one\n" }],
    ]);
    expect(calls("delete the file a.txt", { tools: [operations] })).toEqual([
      ["apply_patch", { type: "delete_file", path: "a.txt" }],
    ]);
  });

  test("a change of words is an update", () => {
    expect(calls("replace `one` with `two` in a.txt", { tools: [patcher] })).toEqual([
      [
        "apply_patch",
        { input: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n" },
      ],
    ]);
  });

  test("a tool that writes files gets the path and the content", () => {
    const writer = tool("write_file", { file_path: text, content: text });
    expect(calls("write a.txt with `one`", { tools: [writer, shell] })).toEqual([
      ["write_file", { file_path: "a.txt", content: "one" }],
    ]);
  });

  test("with nothing but a shell, the shell writes, and quotes are safe in it", () => {
    expect(calls("create a.txt with `it's`", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: String.raw`printf '%s\n' 'it'\''s' > 'a.txt'` }],
    ]);
  });

  test("a file and a command in one wish are two calls", () => {
    const words = "create a.txt with `one` and run `ls`";
    expect(calls(words, { tools: [patcher, shell] }).map(([name]) => name)).toEqual([
      "apply_patch",
      "exec_command",
    ]);
  });
});

describe("other agents", () => {
  const help = tool("ask_for_help", { name: text, description: text, prompt: text });

  test("an agent is asked by its name", () => {
    expect(calls("Ask Researcher to find the answer", { tools: [help] })).toEqual([
      [
        "ask_for_help",
        {
          name: "Researcher",
          description: "Helps with: find the answer",
          prompt: "find the answer",
        },
      ],
    ]);
  });

  test.each(["请 forecaster 查一下 Oslo 的天气", "让 forecaster，查一下 Oslo 的天气"])(
    "an agent is asked in Chinese: %s",
    (words) => {
      expect(calls(words, { tools: [help] })).toMatchObject([
        ["ask_for_help", { name: "forecaster", prompt: "查一下 Oslo 的天气" }],
      ]);
    },
  );

  test("a tool that is asked for in Chinese is no agent", () => {
    expect(calls("请用 get_weather 查一下 Paris 的天气", { tools: [help] })).toEqual([]);
  });

  test("help is asked for without a name too", () => {
    expect(calls("Please ask for help", { tools: [help] })).toMatchObject([
      ["ask_for_help", { name: "Helper", prompt: "Please ask for help" }],
    ]);
  });

  test("a hand-over goes to the agent that is meant", () => {
    const tools = [tool("transfer_to_french_agent"), tool("transfer_to_spanish_agent")];
    expect(calls("Hand over to the Spanish agent", { tools })).toEqual([
      ["transfer_to_spanish_agent", {}],
    ]);
    expect(calls("Ask the German agent to help", { tools })).toEqual([]);
  });

  test("Codex's own sub-agents are asked with a message", () => {
    const spawn: ChatTool = {
      type: "function",
      function: {
        name: "multi_agent_v1__spawn_agent",
        parameters: {
          type: "object",
          properties: { fork_context: { type: "boolean" }, message: text },
        },
      },
    };
    expect(calls("Ask a helper to count the files", { tools: [spawn] })).toEqual([
      ["multi_agent_v1__spawn_agent", { message: "count the files" }],
    ]);
  });
});

test("an agent that was started is waited for, once", () => {
  const tools = [
    tool("multi_agent_v1__spawn_agent", { message: text }),
    tool("multi_agent_v1__wait_agent", { targets: list }),
  ];
  const messages: ChatMessage[] = [
    { role: "user", content: "Ask a helper to count the files" },
    ...ran("multi_agent_v1__spawn_agent", '{"agent_id":"7","nickname":"Ann"}'),
  ];
  expect(callsOf({ model: "clean", messages, tools })).toEqual([
    ["multi_agent_v1__wait_agent", { targets: ["7"] }],
  ]);
  messages.push(...ran("multi_agent_v1__wait_agent", "There are 3", "call_2"));
  expect(callsOf({ model: "clean", messages, tools })).toEqual([]);
});

describe("any other tool", () => {
  test("the tool is called whose name goes with the words", () => {
    const tools = [tool("getStockPrice", { symbol: text }), weather];
    expect(calls("What is the stock price of ACME?", { tools })).toEqual([
      ["getStockPrice", { symbol: "ACME" }],
    ]);
  });

  test("a name inside a namespace is found", () => {
    const tools = [weather, tool("mcp__notes__add_note", { text })];
    expect(calls('add a note "buy milk"', { tools })).toEqual([
      ["mcp__notes__add_note", { text: "buy milk" }],
    ]);
  });

  test("a description can be enough, if enough of it was said", () => {
    const tools = [tool("lookup_x", {}, "Finds books in the public library.")];
    expect(calls("Which books does the public library have?", { tools })).toHaveLength(1);
    expect(calls("Which library is good?", { tools })).toEqual([]);
  });

  test("a Chinese description is found by Chinese words", () => {
    const tools = [tool("tq", { city: text }, "查询城市的天气预报")];
    expect(calls("查询天气预报", { tools })).toHaveLength(1);
    expect(calls("你好", { tools })).toEqual([]);
  });

  test("words that go with no tool call none", () => {
    expect(calls("Hello, how are you?", { tools: [weather, shell] })).toEqual([]);
    expect(calls("Describe this image", { tools: [tool("view_image", { path: text })] })).toEqual(
      [],
    );
  });

  test("a listed thing each gets a call of its own", () => {
    expect(calls("The weather in Paris, New York and Oslo?", { tools: [weather] })).toEqual([
      ["get_weather", { city: "Paris" }],
      ["get_weather", { city: "New York" }],
      ["get_weather", { city: "Oslo" }],
    ]);
  });

  test("tools that are named are all called, in the order in which they are named", () => {
    const tools = [tool("alpha"), tool("beta"), tool("gamma")];
    expect(calls("call gamma and alpha", { tools })).toEqual([
      ["gamma", {}],
      ["alpha", {}],
    ]);
  });

  test("every tool is called when all are asked for", () => {
    const tools = [weather, shell, tool("apply_patch", { input: text }), tool("alpha")];
    expect(calls("Use every tool", { tools }).map(([name]) => name)).toEqual([
      "get_weather",
      "exec_command",
      "apply_patch",
      "alpha",
    ]);
  });
});

describe("tool_choice", () => {
  const tools = [weather, tool("alpha", { value: text })];

  test("none calls nothing", () => {
    expect(calls("weather in Paris", { tools, tool_choice: "none" })).toEqual([]);
  });

  test("required calls what fits best, and something if nothing fits", () => {
    expect(calls("weather in Paris", { tools, tool_choice: "required" })).toEqual([
      ["get_weather", { city: "Paris" }],
    ]);
    expect(calls("Hello", { tools, tool_choice: "required" })).toHaveLength(1);
  });

  test("a named tool is called, whatever was said", () => {
    const tool_choice = { type: "function", function: { name: "alpha" } } as const;
    expect(calls("weather in Paris", { tools, tool_choice })).toEqual([
      ["alpha", { value: "Paris" }],
    ]);
  });

  test("of allowed tools only those are called", () => {
    const allowed = (mode: string): ChatToolChoice => ({
      type: "allowed_tools",
      allowed_tools: { mode, tools: [{ type: "function", function: { name: "alpha" } }] },
    });
    expect(calls("weather in Paris", { tools, tool_choice: allowed("auto") })).toEqual([]);
    expect(calls("weather in Paris", { tools, tool_choice: allowed("required") })).toEqual([
      ["alpha", { value: "Paris" }],
    ]);
  });
});
