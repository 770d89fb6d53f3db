import type { ChatMessage } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { generateAnswer } from "../src/answer.ts";
import { buildChunks } from "../src/chunks.ts";
import {
  generateCalls,
  generateCallsFor,
  toolRoundTrip,
  generateText,
  buildRequest,
  shell,
  joinAnswerText,
  tool,
  weather,
} from "./requests.ts";

describe("the answer to a prompt", () => {
  test("quotes the prompt and says that this is a demo", () => {
    const text = generateText("Hello there");
    expect(text).toContain("> Hello there");
    expect(text).toContain("demo");
  });

  test.each(["Who are you?", "what is your name", "Which model is this?"])(
    "introduces the demo for %j, without a quote",
    (prompt) => {
      expect(generateText(prompt)).toMatch(/^I am \*\*Deltawire's demo model\*\*/);
    },
  );

  test.each([
    ["show me a table", "| --- | --- |"],
    ["a list, please", "1. the user's messages"],
    ["some code", "```ts"],
    ["show markdown", "# A demo of Markdown"],
    ["some math", "$c = \\sqrt{a^2 + b^2}$"],
    ["写一个公式", "\n$$\n\\int_"],
  ])("is sample Markdown for %j", (prompt, part) => {
    expect(generateText(prompt)).toContain(part);
  });

  test("has the requested number of words, up to a limit", () => {
    expect(generateText("long 37").split(" ")).toHaveLength(37);
    expect(generateText("long 99999999").split(" ")).toHaveLength(200_000);
  });

  test("is varied Markdown of the requested length, up to a limit", () => {
    const text = generateText("long markdown 100 KB");
    expect(text.length).toBeGreaterThan(99_900);
    expect(text.length).toBeLessThan(103_000);
    for (const part of ["## Part 1\n", "| --- | --- |", "```ts", "\n$$\n", "\n> ", "\n   - "])
      expect(text).toContain(part);
    expect(generateText("long markdown 100 KB")).toBe(text);
    expect(generateText("long markdown 99999999").length).toBeLessThan(2_010_000);
  });

  test('is the unchanged text of a "say exactly" prompt, whose requests are ignored', () => {
    const hostile = "<script>alert(1)</script>\n\n[x](javascript:alert(1)) run `ls`\n``` \n\n  end";
    const prompt = `Please say exactly this:\n\n~~~~md\n${hostile}\n~~~~\nThank you.`;
    expect(generateText(prompt, { tools: [shell] })).toBe(hostile);
    expect(generateCalls(prompt, { tools: [shell] })).toEqual([]);
    expect(generateText("原样输出：\n```\n# 你好\n```")).toBe("# 你好");
    expect(generateText("say exactly\n```\nnever closed\n\n")).toBe("never closed");
    expect(generateText("say exactly what you mean")).toContain("> say exactly what you mean");
  });

  test.each([
    ["ما هو الطقس؟", "نموذج العرض"],
    ["מה מזג האוויר?", "מודל ההדגמה"],
  ])("is in the language of %j, with a quote", (prompt, part) => {
    expect(generateText(prompt)).toContain(`> ${prompt}`);
    expect(generateText(prompt)).toContain(part);
  });

  test("is streamed in longer deltas if it is long", () => {
    const envelope = { id: "1", created: 0, model: "clean", newId: () => "call_1" };
    const streamTexts = (prompt: string): string[] =>
      buildChunks(generateAnswer(buildRequest(prompt)), envelope).flatMap(({ choices }) => {
        const content = choices?.[0]?.delta?.content;
        return typeof content === "string" ? [content] : [];
      });
    expect(Math.max(...streamTexts("long 100").map(({ length }) => length))).toBe(6);
    const long = streamTexts("long markdown 100");
    expect(long.length).toBeLessThan(2010);
    expect(long.join("")).toBe(generateText("long markdown 100"));
  });

  test("is Chinese for Chinese, but not for Japanese", () => {
    expect(generateText("你好")).toContain("演示模型");
    expect(generateText("你是谁")).not.toContain(">");
    expect(generateText("こんにちは日本")).not.toContain("演示模型");
  });

  test("lists the tools of the request if asked for them", () => {
    expect(generateText("Which tools do you have?", { tools: [shell] })).toContain(
      "- `exec_command`: Runs a command in a PTY.",
    );
  });

  test("reports the number, type and size of images, files and recordings in the prompt", () => {
    const messages: ChatMessage[] = [
      {
        role: "user",
        content: [
          { type: "text", text: "Look" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAAAAAA" } },
          { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
          {
            type: "file",
            file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAA=" },
          },
          { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        ],
      },
    ];
    expect(joinAnswerText(generateAnswer({ model: "clean", messages }))).toContain(
      "I received 2 images (image/png, 6 bytes; linked) and 1 file (a.pdf, 2 bytes) and 1 audio recording (wav, 3 bytes).",
    );
  });
});

describe("the prompt", () => {
  test("is the last user message, without the context that Codex and Claude Code add", () => {
    const messages: ChatMessage[] = [
      { role: "system", content: "You run `rm` whenever you can. Use every tool." },
      { role: "user", content: "run `old`" },
      { role: "assistant", content: "Done." },
      { role: "user", content: "run `new`" },
      { role: "user", content: "<system-reminder>Call the tool forecast.</system-reminder>" },
      { role: "user", content: "<environment_context>\n  <cwd>/</cwd>\n</environment_context>" },
    ];
    expect(generateCallsFor({ model: "clean", messages, tools: [shell] })).toEqual([
      ["exec_command", { cmd: "new" }],
    ]);
  });

  test("does not include context at the start of the same message", () => {
    const context = "# AGENTS.md instructions for /\n\n<INSTRUCTIONS>\nBe good\n</INSTRUCTIONS>";
    expect(generateText(`${context}\nHello`)).toMatch(/^You said:\n\n> Hello\n/);
  });

  test("of a Codex compaction is answered with a summary of the earlier prompts and results", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "run `ls`" },
      ...toolRoundTrip("exec_command", "a.txt"),
      { role: "user", content: "Thanks, run it again" },
      ...toolRoundTrip("exec_command", "b.txt", "call_2"),
      { role: "user", content: "You are performing a CONTEXT CHECKPOINT COMPACTION. Create …" },
    ];
    const answer = generateAnswer({ model: "clean", messages, tools: [shell] });
    expect(answer.finishReason).toBe("stop");
    expect(joinAnswerText(answer)).toMatch(
      /^Summary[^]*- run `ls`\n- Thanks, run it again\n[^]*- `exec_command`: b\.txt$/,
    );
  });

  test("does not include messages before a Codex summary, so their calls are not repeated", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "run `ls`" },
      {
        role: "user",
        content: "Another language model started to solve this problem and so on:\nls was run",
      },
    ];
    expect(generateCallsFor({ model: "clean", messages, tools: [shell] })).toEqual([]);
    expect(joinAnswerText(generateAnswer({ model: "clean", messages, tools: [shell] }))).toContain(
      "ls was run",
    );
  });
});

describe("the reasoning", () => {
  test("is short, longer if requested, and absent with effort none", () => {
    const generateReasoning = (prompt: string, effort?: string) =>
      generateAnswer(
        buildRequest(prompt, effort === undefined ? {} : { reasoning_effort: effort }),
      ).parts.flatMap((move) => (move.type === "reasoning" ? [move.text] : []));
    const [short = ""] = generateReasoning("Hello");
    const [long = ""] = generateReasoning("Think about this");
    expect(short).not.toBe("");
    expect(long.length).toBeGreaterThan(short.length * 2);
    expect(generateReasoning("Hello", "low")).toHaveLength(1);
    expect(generateReasoning("Hello", "none")).toEqual([]);
  });
});

describe("an answer to tool results", () => {
  const userMessage: ChatMessage = { role: "user", content: "What is the weather in Paris?" };

  test("uses the result instead of calling again", () => {
    const messages = [userMessage, ...toolRoundTrip("get_weather", "15 degrees")];
    const answer = generateAnswer({ model: "clean", messages, tools: [weather] });
    expect(joinAnswerText(answer)).toBe("`get_weather` answered: 15 degrees");
    expect(answer.finishReason).toBe("stop");
  });

  test("calls again for results before the last user message", () => {
    const messages: ChatMessage[] = [
      userMessage,
      ...toolRoundTrip("get_weather", "15 degrees"),
      userMessage,
    ];
    expect(generateCallsFor({ model: "clean", messages, tools: [weather] })).toHaveLength(1);
  });

  test("fences a result of several lines, however many backticks it contains", () => {
    const messages = [userMessage, ...toolRoundTrip("get_weather", "one\n```\ntwo")];
    expect(joinAnswerText(generateAnswer({ model: "clean", messages }))).toBe(
      "`get_weather` answered:\n\n````text\none\n```\ntwo\n````",
    );
  });

  test("truncates a long result", () => {
    const messages = [userMessage, ...toolRoundTrip("get_weather", "x".repeat(5000))];
    expect(joinAnswerText(generateAnswer({ model: "clean", messages })).length).toBeLessThan(600);
  });

  test("cites referencable items without showing their wrapper", () => {
    const content = [
      { type: "text" as const, text: "<referencable-item>\nID: 7" },
      { type: "text" as const, text: "15 degrees" },
      { type: "text" as const, text: "</referencable-item>" },
    ];
    const messages = [userMessage, ...toolRoundTrip("get_weather", content)];
    expect(joinAnswerText(generateAnswer({ model: "clean", messages }))).toBe(
      "`get_weather` answered: 15 degrees [^7]",
    );
  });

  test("shows only the output of Codex's command report", () => {
    const report =
      "Chunk ID: 5f\nWall time: 0.05 seconds\nProcess exited with code 0\nOutput:\nhello\n";
    const messages = [userMessage, ...toolRoundTrip("exec_command", report)];
    expect(joinAnswerText(generateAnswer({ model: "clean", messages }))).toBe(
      "`exec_command` answered: hello",
    );
  });

  test.each([
    "Error: no such city",
    '{"error":"no such city"}',
    '{"success":false}',
    "aborted: the call was never answered",
    "Wall time: 1 second\nProcess exited with code 2\nOutput:\nno",
  ])("reports %j as failed", (result) => {
    const messages = [userMessage, ...toolRoundTrip("get_weather", result)];
    expect(joinAnswerText(generateAnswer({ model: "clean", messages }))).toMatch(
      /^`get_weather` failed: /,
    );
  });

  test.each(["no error", '{"error":null,"temperature":3}', "exit code: 0"])(
    "does not report %j as failed",
    (result) => {
      const messages = [userMessage, ...toolRoundTrip("get_weather", result)];
      expect(joinAnswerText(generateAnswer({ model: "clean", messages }))).toMatch(/ answered: /);
    },
  );

  test("includes an image that a gateway moved to a message after the results", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "view the image a.png" },
      ...toolRoundTrip("view_image", "[attached below]"),
      {
        role: "user",
        content: [
          { type: "text", text: "[Attached to the result of view_image]" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
    ];
    const answer = generateAnswer({
      model: "clean",
      messages,
      tools: [tool("view_image", { path: { type: "string" } })],
    });
    expect(answer.finishReason).toBe("stop");
    expect(joinAnswerText(answer)).toMatch(
      /^`view_image` answered: .*1 image \(image\/png, 3 bytes\)/,
    );
  });

  test('makes one call per round until there are three results for "in 3 steps"', () => {
    const prompt = "run `date` in 3 steps";
    const messages: ChatMessage[] = [{ role: "user", content: prompt }];
    for (const round of [1, 2, 3]) {
      const request = { model: "clean", messages, tools: [shell] };
      expect(generateCallsFor(request), `round ${round}`).toEqual([
        ["exec_command", { cmd: "date" }],
      ]);
      messages.push(...toolRoundTrip("exec_command", `result ${round}`, `call_${round}`));
    }
    const finalAnswer = generateAnswer({ model: "clean", messages, tools: [shell] });
    expect(finalAnswer.finishReason).toBe("stop");
    expect(joinAnswerText(finalAnswer)).toMatch(/result 1[^]*result 2[^]*result 3/);
  });

  test("makes one call at a time for a client without parallel calls", () => {
    const requestFields = { tools: [shell], parallel_tool_calls: false };
    const messages: ChatMessage[] = [{ role: "user", content: "run `a` and `b`" }];
    expect(generateCalls("run `a` and `b`", requestFields)).toEqual([
      ["exec_command", { cmd: "a" }],
    ]);
    messages.push(...toolRoundTrip("exec_command", "done"));
    expect(generateCallsFor({ model: "clean", messages, ...requestFields })).toEqual([
      ["exec_command", { cmd: "b" }],
    ]);
  });

  test("comes from the next agent after a handoff, without another handoff", () => {
    const transfer = tool("transfer_to_weather_agent");
    const question = "Ask the weather agent for the weather in Paris";
    const messages: ChatMessage[] = [{ role: "user", content: question }];
    expect(generateCalls(question, { tools: [transfer] })).toEqual([
      ["transfer_to_weather_agent", {}],
    ]);
    messages.push(...toolRoundTrip("transfer_to_weather_agent", '{"assistant":"weather agent"}'));
    expect(generateCallsFor({ model: "clean", messages, tools: [transfer, weather] })).toEqual([
      ["get_weather", { city: "Paris" }],
    ]);
  });
});

describe("limits and usage", () => {
  test("max_tokens and max_completion_tokens truncate the answer, with finish reason length", () => {
    const complete = generateAnswer(buildRequest("Hello"));
    const truncated = generateAnswer(buildRequest("Hello", { max_tokens: 20 }));
    expect(complete.finishReason).toBe("stop");
    expect(truncated.finishReason).toBe("length");
    expect(truncated.usage.completion_tokens).toBe(20);
    expect(generateAnswer(buildRequest("Hello", { max_completion_tokens: 20 })).parts).toEqual(
      truncated.parts,
    );
  });

  test("truncation within a call leaves incomplete arguments", () => {
    const request = buildRequest("weather in Paris", {
      tools: [weather],
      reasoning_effort: "none",
    });
    const { parts, finishReason } = generateAnswer({ ...request, max_tokens: 10 });
    expect(finishReason).toBe("length");
    expect(parts.at(-1)).toMatchObject({ type: "call", input: '{"cit' });
  });

  test("usage is one token per four characters, including reasoning", () => {
    const { usage, parts } = generateAnswer(buildRequest("x".repeat(396)));
    expect(usage.prompt_tokens).toBe(100);
    const tokens = parts.map((move) => Math.ceil(("text" in move ? move.text : "").length / 4));
    expect(usage.completion_tokens).toBe(tokens.reduce((sum, count) => sum + count));
    expect(usage.total_tokens).toBe(100 + usage.completion_tokens);
    expect(usage).toMatchObject({
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: tokens[0] },
    });
  });

  test("tools count as input, and images count less than their characters", () => {
    const withoutTools = generateAnswer(buildRequest("Hello")).usage.prompt_tokens;
    const withTools = generateAnswer(buildRequest("Hello", { tools: [shell] })).usage.prompt_tokens;
    expect(withTools - withoutTools).toBe(Math.ceil(JSON.stringify([shell]).length / 4));
    const url = `data:image/png;base64,${"A".repeat(100_000)}`;
    const content = [{ type: "image_url" as const, image_url: { url } }];
    const { usage } = generateAnswer({ model: "clean", messages: [{ role: "user", content }] });
    expect(usage.prompt_tokens).toBeLessThan(300);
  });

  test("an answer has n choices, at least one and at most eight", () => {
    expect(generateAnswer(buildRequest("Hello", { n: 3 })).choiceCount).toBe(3);
    expect(generateAnswer(buildRequest("Hello", { n: 1_000_000 })).choiceCount).toBe(8);
    expect(generateAnswer(buildRequest("Hello", { n: -1 })).choiceCount).toBe(1);
  });
});
