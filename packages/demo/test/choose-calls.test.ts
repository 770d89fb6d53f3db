import type { ChatMessage, ChatTool, ChatToolChoice } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import {
  generateCalls,
  generateCallsFor,
  toolRoundTrip,
  shell,
  tool,
  weather,
} from "./requests.ts";

const text = { type: "string" };
const list = { type: "array", items: text };

describe("a shell tool", () => {
  test("is called with the command in backticks", () => {
    expect(generateCalls("Please run `ls -l`", { tools: [weather, shell] })).toEqual([
      ["exec_command", { cmd: "ls -l" }],
    ]);
  });

  test("is called with the rest of the line after a colon", () => {
    expect(generateCalls("run: echo a b\nThank you", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: "echo a b" }],
    ]);
  });

  test("is called once per command, in parallel", () => {
    expect(generateCalls("run these two commands: `a`, `b` and `c`", { tools: [shell] })).toEqual([
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
  ])("is called with a command in the format that it declares: %j", (offered, expected) => {
    expect(generateCalls("run `ls`", { tools: [offered] })).toEqual([
      [expect.any(String), expected],
    ]);
  });

  test("is never called with text that is not a command, even if the prompt contains its name", () => {
    expect(generateCalls("Explain the exec command; rm -rf ~", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: "echo Hello from the demo model" }],
    ]);
  });

  test("must be offered: another tool is not called for a command", () => {
    expect(generateCalls("run `ls`", { tools: [weather] })).toEqual([]);
  });
});

describe("a prompt to change a file", () => {
  const patchTool = tool("apply_patch", { input: text });
  const patch = "*** Begin Patch\n*** Add File: src/a.txt\n+one\n+two\n*** End Patch\n";

  test("calls Codex's patch tool with a patch that creates the file", () => {
    expect(
      generateCalls("Create the file src/a.txt with `one\ntwo`", { tools: [patchTool, shell] }),
    ).toEqual([["apply_patch", { input: patch }]]);
  });

  test("sends a plain patch to a free-form patch tool", () => {
    const customPatchTool: ChatTool = { type: "custom", custom: { name: "apply_patch" } };
    expect(
      generateCalls('write src/a.txt containing "one\ntwo"', { tools: [customPatchTool] }),
    ).toEqual([["apply_patch", patch]]);
  });

  test("can have content without quotes or no content", () => {
    const customPatchTool: ChatTool = { type: "custom", custom: { name: "apply_patch" } };
    const buildPatch = (content: string) =>
      `*** Begin Patch\n*** Add File: notes.txt\n+${content}\n*** End Patch\n`;
    for (const [prompt, content] of [
      ["create a file notes.txt with hello in it", "hello"],
      ["Write notes.txt saying good morning.", "good morning"],
      ["create a file notes.txt", "The demo was here."],
    ] as const)
      expect(generateCalls(prompt, { tools: [customPatchTool] })).toEqual([
        ["apply_patch", buildPatch(content)],
      ]);
  });

  test("sends an operation to a patch tool with operations", () => {
    const patchOperations = tool("apply_patch", { type: text, path: text, diff: text });
    expect(generateCalls("create a file a.txt with `one`", { tools: [patchOperations] })).toEqual([
      ["apply_patch", { type: "create_file", path: "a.txt", diff: "+one\n" }],
    ]);
    expect(generateCalls("delete the file a.txt", { tools: [patchOperations] })).toEqual([
      ["apply_patch", { type: "delete_file", path: "a.txt" }],
    ]);
  });

  test("sends a patch that replaces text", () => {
    expect(generateCalls("replace `one` with `two` in a.txt", { tools: [patchTool] })).toEqual([
      [
        "apply_patch",
        { input: "*** Begin Patch\n*** Update File: a.txt\n@@\n-one\n+two\n*** End Patch\n" },
      ],
    ]);
  });

  test("sends path and content to a tool that writes files", () => {
    const writeFile = tool("write_file", { file_path: text, content: text });
    expect(generateCalls("write a.txt with `one`", { tools: [writeFile, shell] })).toEqual([
      ["write_file", { file_path: "a.txt", content: "one" }],
    ]);
  });

  test("writes the file with a safely quoted shell command if there is only a shell", () => {
    expect(generateCalls("create a.txt with `it's`", { tools: [shell] })).toEqual([
      ["exec_command", { cmd: String.raw`printf '%s\n' 'it'\''s' > 'a.txt'` }],
    ]);
  });

  test("can also contain a command, which is a second call", () => {
    const prompt = "create a.txt with `one` and run `ls`";
    expect(generateCalls(prompt, { tools: [patchTool, shell] }).map(([name]) => name)).toEqual([
      "apply_patch",
      "exec_command",
    ]);
  });
});

describe("a prompt that mentions another agent", () => {
  const askForHelp = tool("ask_for_help", { name: text, description: text, prompt: text });

  test("calls an agent by its name", () => {
    expect(generateCalls("Ask Researcher to find the answer", { tools: [askForHelp] })).toEqual([
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
    "calls an agent in Chinese: %s",
    (prompt) => {
      expect(generateCalls(prompt, { tools: [askForHelp] })).toMatchObject([
        ["ask_for_help", { name: "forecaster", prompt: "查一下 Oslo 的天气" }],
      ]);
    },
  );

  test("does not treat a tool as an agent in Chinese", () => {
    expect(generateCalls("请用 get_weather 查一下 Paris 的天气", { tools: [askForHelp] })).toEqual(
      [],
    );
  });

  test("asks for help if it has no name", () => {
    expect(generateCalls("Please ask for help", { tools: [askForHelp] })).toMatchObject([
      ["ask_for_help", { name: "Helper", prompt: "Please ask for help" }],
    ]);
  });

  test("hands over to the named agent", () => {
    const tools = [tool("transfer_to_french_agent"), tool("transfer_to_spanish_agent")];
    expect(generateCalls("Hand over to the Spanish agent", { tools })).toEqual([
      ["transfer_to_spanish_agent", {}],
    ]);
    expect(generateCalls("Ask the German agent to help", { tools })).toEqual([]);
  });

  test("starts a Codex sub-agent with a message", () => {
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
    expect(generateCalls("Ask a helper to count the files", { tools: [spawn] })).toEqual([
      ["multi_agent_v1__spawn_agent", { message: "count the files" }],
    ]);
  });
});

test("the result of a started Codex agent is awaited once", () => {
  const tools = [
    tool("multi_agent_v1__spawn_agent", { message: text }),
    tool("multi_agent_v1__wait_agent", { targets: list }),
  ];
  const messages: ChatMessage[] = [
    { role: "user", content: "Ask a helper to count the files" },
    ...toolRoundTrip("multi_agent_v1__spawn_agent", '{"agent_id":"7","nickname":"Ann"}'),
  ];
  expect(generateCallsFor({ model: "clean", messages, tools })).toEqual([
    ["multi_agent_v1__wait_agent", { targets: ["7"] }],
  ]);
  messages.push(...toolRoundTrip("multi_agent_v1__wait_agent", "There are 3", "call_2"));
  expect(generateCallsFor({ model: "clean", messages, tools })).toEqual([]);
});

describe("any other tool", () => {
  test("is called if its name matches the prompt", () => {
    const tools = [tool("getStockPrice", { symbol: text }), weather];
    expect(generateCalls("What is the stock price of ACME?", { tools })).toEqual([
      ["getStockPrice", { symbol: "ACME" }],
    ]);
  });

  test("is called if its name matches without its namespace", () => {
    const tools = [weather, tool("mcp__notes__add_note", { text })];
    expect(generateCalls('add a note "buy milk"', { tools })).toEqual([
      ["mcp__notes__add_note", { text: "buy milk" }],
    ]);
  });

  test("is called if the prompt contains enough words of its description", () => {
    const tools = [tool("lookup_x", {}, "Finds books in the public library.")];
    expect(generateCalls("Which books does the public library have?", { tools })).toHaveLength(1);
    expect(generateCalls("Which library is good?", { tools })).toEqual([]);
  });

  test("is called if the prompt contains Chinese words of its description", () => {
    const tools = [tool("tq", { city: text }, "查询城市的天气预报")];
    expect(generateCalls("查询天气预报", { tools })).toHaveLength(1);
    expect(generateCalls("你好", { tools })).toEqual([]);
  });

  test("is not called if it does not match", () => {
    expect(generateCalls("Hello, how are you?", { tools: [weather, shell] })).toEqual([]);
    expect(
      generateCalls("Describe this image", { tools: [tool("view_image", { path: text })] }),
    ).toEqual([]);
  });

  test("is called once for each listed name", () => {
    expect(generateCalls("The weather in Paris, New York and Oslo?", { tools: [weather] })).toEqual(
      [
        ["get_weather", { city: "Paris" }],
        ["get_weather", { city: "New York" }],
        ["get_weather", { city: "Oslo" }],
      ],
    );
  });

  test("is called with the others that the prompt names, in their order", () => {
    const tools = [tool("alpha"), tool("beta"), tool("gamma")];
    expect(generateCalls("call gamma and alpha", { tools })).toEqual([
      ["gamma", {}],
      ["alpha", {}],
    ]);
  });

  test("is called like every other one if all are requested", () => {
    const tools = [weather, shell, tool("apply_patch", { input: text }), tool("alpha")];
    expect(generateCalls("Use every tool", { tools }).map(([name]) => name)).toEqual([
      "get_weather",
      "exec_command",
      "apply_patch",
      "alpha",
    ]);
  });
});

describe("tool_choice", () => {
  const tools = [weather, tool("alpha", { value: text })];

  test("none prevents calls", () => {
    expect(generateCalls("weather in Paris", { tools, tool_choice: "none" })).toEqual([]);
  });

  test("required calls the best match, or any tool if none matches", () => {
    expect(generateCalls("weather in Paris", { tools, tool_choice: "required" })).toEqual([
      ["get_weather", { city: "Paris" }],
    ]);
    expect(generateCalls("Hello", { tools, tool_choice: "required" })).toHaveLength(1);
  });

  test("with a name calls that tool for any prompt", () => {
    const tool_choice = { type: "function", function: { name: "alpha" } } as const;
    expect(generateCalls("weather in Paris", { tools, tool_choice })).toEqual([
      ["alpha", { value: "Paris" }],
    ]);
  });

  test("allowed_tools calls only the tools that it contains", () => {
    const allowAlpha = (mode: string): ChatToolChoice => ({
      type: "allowed_tools",
      allowed_tools: { mode, tools: [{ type: "function", function: { name: "alpha" } }] },
    });
    expect(generateCalls("weather in Paris", { tools, tool_choice: allowAlpha("auto") })).toEqual(
      [],
    );
    expect(
      generateCalls("weather in Paris", { tools, tool_choice: allowAlpha("required") }),
    ).toEqual([["alpha", { value: "Paris" }]]);
  });
});
