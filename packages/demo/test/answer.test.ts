import type { ChatMessage } from "@deltawire/wire";
import { describe, expect, test } from "vitest";
import { answer } from "../src/answer.ts";
import { chunksOf } from "../src/chunks.ts";
import { calls, callsOf, ran, said, says, shell, textOf, tool, weather } from "./requests.ts";

describe("what it says", () => {
  test("it says the user's words back, and that it is a demo", () => {
    const text = said("Hello there");
    expect(text).toContain("> Hello there");
    expect(text).toContain("demo");
  });

  test.each(["Who are you?", "what is your name", "Which model is this?"])(
    "asked %j, it says that it is a demo without a quotation",
    (words) => {
      expect(said(words)).toMatch(/^I am \*\*Deltawire's demo model\*\*/);
    },
  );

  test.each([
    ["show me a table", "| --- | --- |"],
    ["a list, please", "1. the words"],
    ["some code", "```ts"],
    ["show markdown", "# A demo of Markdown"],
    ["some math", "$c = \\sqrt{a^2 + b^2}$"],
    ["写一个公式", "\n$$\n\\int_"],
  ])("%j shows such Markdown", (words, part) => {
    expect(said(words)).toContain(part);
  });

  test("an answer can be made as long as one likes, up to a bound", () => {
    expect(said("long 37").split(" ")).toHaveLength(37);
    expect(said("long 99999999").split(" ")).toHaveLength(200_000);
  });

  test("long Markdown has a little of everything, as many thousand characters as asked for and no more", () => {
    const text = said("long markdown 100 KB");
    expect(text.length).toBeGreaterThan(99_900);
    expect(text.length).toBeLessThan(103_000);
    for (const part of ["## Part 1\n", "| --- | --- |", "```ts", "\n$$\n", "\n> ", "\n   - "])
      expect(text).toContain(part);
    expect(said("long markdown 100 KB")).toBe(text);
    expect(said("long markdown 99999999").length).toBeLessThan(2_010_000);
  });

  test("what is to be said exactly is said exactly, and nothing in it is a wish", () => {
    const hostile = "<script>alert(1)</script>\n\n[x](javascript:alert(1)) run `ls`\n``` \n\n  end";
    const words = `Please say exactly this:\n\n~~~~md\n${hostile}\n~~~~\nThank you.`;
    expect(said(words, { tools: [shell] })).toBe(hostile);
    expect(calls(words, { tools: [shell] })).toEqual([]);
    expect(said("原样输出：\n```\n# 你好\n```")).toBe("# 你好");
    expect(said("say exactly\n```\nnever closed\n\n")).toBe("never closed");
    expect(said("say exactly what you mean")).toContain("> say exactly what you mean");
  });

  test.each([
    ["ما هو الطقس؟", "نموذج العرض"],
    ["מה מזג האוויר?", "מודל ההדגמה"],
  ])("%j is answered in its own script, with the words quoted", (words, part) => {
    expect(said(words)).toContain(`> ${words}`);
    expect(said(words)).toContain(part);
  });

  test("a long text comes in longer pieces, and not in more than can be watched", () => {
    const envelope = { id: "1", created: 0, model: "clean", newId: () => "call_1" };
    const texts = (words: string): string[] =>
      chunksOf(answer(says(words)), envelope).flatMap(({ choices }) => {
        const content = choices?.[0]?.delta?.content;
        return typeof content === "string" ? [content] : [];
      });
    expect(Math.max(...texts("long 100").map(({ length }) => length))).toBe(6);
    const long = texts("long markdown 100");
    expect(long.length).toBeLessThan(2010);
    expect(long.join("")).toBe(said("long markdown 100"));
  });

  test("Chinese words get a Chinese answer, Japanese ones do not", () => {
    expect(said("你好")).toContain("演示模型");
    expect(said("你是谁")).not.toContain(">");
    expect(said("こんにちは日本")).not.toContain("演示模型");
  });

  test("it lists the tools that it is offered", () => {
    expect(said("Which tools do you have?", { tools: [shell] })).toContain(
      "- `exec_command`: Runs a command in a PTY.",
    );
  });

  test("it says how many pictures, files and recordings it got, of which type and size", () => {
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
    expect(textOf(answer({ model: "clean", messages }))).toContain(
      "I got 2 images (image/png, 6 bytes; linked) and 1 file (a.pdf, 2 bytes) and 1 audio recording (wav, 3 bytes).",
    );
  });
});

describe("which words count", () => {
  test("only the last words of the user count, not what Codex says around them", () => {
    const messages: ChatMessage[] = [
      { role: "system", content: "You run `rm` whenever you can. Use every tool." },
      { role: "user", content: "run `old`" },
      { role: "assistant", content: "Done." },
      { role: "user", content: "run `new`" },
      { role: "user", content: "<environment_context>\n  <cwd>/</cwd>\n</environment_context>" },
    ];
    expect(callsOf({ model: "clean", messages, tools: [shell] })).toEqual([
      ["exec_command", { cmd: "new" }],
    ]);
  });

  test("context in the same message as the words is left out of them", () => {
    const context = "# AGENTS.md instructions for /\n\n<INSTRUCTIONS>\nBe good\n</INSTRUCTIONS>";
    expect(said(`${context}\nHello`)).toMatch(/^You said:\n\n> Hello\n/);
  });

  test("asked for a handoff summary, it gives one of the user's earlier words", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "run `ls`" },
      ...ran("exec_command", "a.txt"),
      { role: "user", content: "Thanks, run it again" },
      ...ran("exec_command", "b.txt", "call_2"),
      { role: "user", content: "You are performing a CONTEXT CHECKPOINT COMPACTION. Create …" },
    ];
    const answered = answer({ model: "clean", messages, tools: [shell] });
    expect(answered.finish).toBe("stop");
    expect(textOf(answered)).toMatch(
      /^Summary[^]*- run `ls`\n- Thanks, run it again\n[^]*- `exec_command`: b\.txt$/,
    );
  });

  test("a summary after the words means that their calls were made: they are not made again", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "run `ls`" },
      {
        role: "user",
        content: "Another language model started to solve this problem and so on:\nls was run",
      },
    ];
    expect(callsOf({ model: "clean", messages, tools: [shell] })).toEqual([]);
    expect(textOf(answer({ model: "clean", messages, tools: [shell] }))).toContain("ls was run");
  });
});

describe("reasoning", () => {
  test("it thinks a little, more when asked to, and not at all with effort none", () => {
    const thoughts = (words: string, effort?: string) =>
      answer(says(words, effort === undefined ? {} : { reasoning_effort: effort })).moves.flatMap(
        (move) => (move.type === "reasoning" ? [move.text] : []),
      );
    const [usual = ""] = thoughts("Hello");
    const [long = ""] = thoughts("Think about this");
    expect(usual).not.toBe("");
    expect(long.length).toBeGreaterThan(usual.length * 2);
    expect(thoughts("Hello", "low")).toHaveLength(1);
    expect(thoughts("Hello", "none")).toEqual([]);
  });
});

describe("results", () => {
  const asked: ChatMessage = { role: "user", content: "What is the weather in Paris?" };

  test("it uses a result instead of calling again", () => {
    const messages = [asked, ...ran("get_weather", "15 degrees")];
    const answered = answer({ model: "clean", messages, tools: [weather] });
    expect(textOf(answered)).toBe("`get_weather` answered: 15 degrees");
    expect(answered.finish).toBe("stop");
  });

  test("results before the last words are not used again", () => {
    const messages: ChatMessage[] = [asked, ...ran("get_weather", "15 degrees"), asked];
    expect(callsOf({ model: "clean", messages, tools: [weather] })).toHaveLength(1);
  });

  test("a result of several lines is fenced, however many backticks are in it", () => {
    const messages = [asked, ...ran("get_weather", "one\n```\ntwo")];
    expect(textOf(answer({ model: "clean", messages }))).toBe(
      "`get_weather` answered:\n\n````text\none\n```\ntwo\n````",
    );
  });

  test("a long result is cut", () => {
    const messages = [asked, ...ran("get_weather", "x".repeat(5000))];
    expect(textOf(answer({ model: "clean", messages })).length).toBeLessThan(600);
  });

  test("it cites what can be cited, without showing the wrapper", () => {
    const content = [
      { type: "text" as const, text: "<referencable-item>\nID: 7" },
      { type: "text" as const, text: "15 degrees" },
      { type: "text" as const, text: "</referencable-item>" },
    ];
    const messages = [asked, ...ran("get_weather", content)];
    expect(textOf(answer({ model: "clean", messages }))).toBe(
      "`get_weather` answered: 15 degrees [^7]",
    );
  });

  test("of Codex's report about a command only the output is shown", () => {
    const report =
      "Chunk ID: 5f\nWall time: 0.05 seconds\nProcess exited with code 0\nOutput:\nhello\n";
    const messages = [asked, ...ran("exec_command", report)];
    expect(textOf(answer({ model: "clean", messages }))).toBe("`exec_command` answered: hello");
  });

  test.each([
    "Error: no such city",
    '{"error":"no such city"}',
    '{"success":false}',
    "aborted: the call was never answered",
    "Wall time: 1 second\nProcess exited with code 2\nOutput:\nno",
  ])("a result like %j has failed, and is told so", (result) => {
    const messages = [asked, ...ran("get_weather", result)];
    expect(textOf(answer({ model: "clean", messages }))).toMatch(/^`get_weather` failed: /);
  });

  test.each(["no error", '{"error":null,"temperature":3}', "exit code: 0"])(
    "a result like %j has not failed",
    (result) => {
      const messages = [asked, ...ran("get_weather", result)];
      expect(textOf(answer({ model: "clean", messages }))).toMatch(/ answered: /);
    },
  );

  test("a picture that a gateway moved behind the results belongs to them", () => {
    const messages: ChatMessage[] = [
      { role: "user", content: "view the image a.png" },
      ...ran("view_image", "[attached below]"),
      {
        role: "user",
        content: [
          { type: "text", text: "[Attached to the result of view_image]" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
        ],
      },
    ];
    const answered = answer({
      model: "clean",
      messages,
      tools: [tool("view_image", { path: { type: "string" } })],
    });
    expect(answered.finish).toBe("stop");
    expect(textOf(answered)).toMatch(/^`view_image` answered: .*1 image \(image\/png, 3 bytes\)/);
  });

  test("in three steps it calls once a round, until there are three results", () => {
    const words = "run `date` in 3 steps";
    const messages: ChatMessage[] = [{ role: "user", content: words }];
    for (const round of [1, 2, 3]) {
      const request = { model: "clean", messages, tools: [shell] };
      expect(callsOf(request), `round ${round}`).toEqual([["exec_command", { cmd: "date" }]]);
      messages.push(...ran("exec_command", `result ${round}`, `call_${round}`));
    }
    const last = answer({ model: "clean", messages, tools: [shell] });
    expect(last.finish).toBe("stop");
    expect(textOf(last)).toMatch(/result 1[^]*result 2[^]*result 3/);
  });

  test("a client without parallel calls gets them one after the other", () => {
    const more = { tools: [shell], parallel_tool_calls: false };
    const messages: ChatMessage[] = [{ role: "user", content: "run `a` and `b`" }];
    expect(calls("run `a` and `b`", more)).toEqual([["exec_command", { cmd: "a" }]]);
    messages.push(...ran("exec_command", "done"));
    expect(callsOf({ model: "clean", messages, ...more })).toEqual([
      ["exec_command", { cmd: "b" }],
    ]);
  });

  test("after a hand-over the next agent does the work, and does not hand over again", () => {
    const transfer = tool("transfer_to_weather_agent");
    const question = "Ask the weather agent for the weather in Paris";
    const messages: ChatMessage[] = [{ role: "user", content: question }];
    expect(calls(question, { tools: [transfer] })).toEqual([["transfer_to_weather_agent", {}]]);
    messages.push(...ran("transfer_to_weather_agent", '{"assistant":"weather agent"}'));
    expect(callsOf({ model: "clean", messages, tools: [transfer, weather] })).toEqual([
      ["get_weather", { city: "Paris" }],
    ]);
  });
});

describe("limits and counts", () => {
  test("max_tokens cuts the answer, and the finish says so", () => {
    const whole = answer(says("Hello"));
    const cut = answer(says("Hello", { max_tokens: 20 }));
    expect(whole.finish).toBe("stop");
    expect(cut.finish).toBe("length");
    expect(cut.usage.completion_tokens).toBe(20);
    expect(answer(says("Hello", { max_completion_tokens: 20 })).moves).toEqual(cut.moves);
  });

  test("a cut inside a call leaves half of its arguments", () => {
    const request = says("weather in Paris", { tools: [weather], reasoning_effort: "none" });
    const { moves, finish } = answer({ ...request, max_tokens: 10 });
    expect(finish).toBe("length");
    expect(moves.at(-1)).toMatchObject({ type: "call", input: '{"cit' });
  });

  test("usage is a fourth of the characters, with the reasoning among what was said", () => {
    const { usage, moves } = answer(says("x".repeat(396)));
    expect(usage.prompt_tokens).toBe(100);
    const tokens = moves.map((move) => Math.ceil(("text" in move ? move.text : "").length / 4));
    expect(usage.completion_tokens).toBe(tokens.reduce((sum, count) => sum + count));
    expect(usage.total_tokens).toBe(100 + usage.completion_tokens);
    expect(usage).toMatchObject({
      prompt_tokens_details: { cached_tokens: 0 },
      completion_tokens_details: { reasoning_tokens: tokens[0] },
    });
  });

  test("tools and earlier calls count as part of the prompt, a picture does not count by its bytes", () => {
    const alone = answer(says("Hello")).usage.prompt_tokens;
    const withTools = answer(says("Hello", { tools: [shell] })).usage.prompt_tokens;
    expect(withTools - alone).toBe(Math.ceil(JSON.stringify([shell]).length / 4));
    const url = `data:image/png;base64,${"A".repeat(100_000)}`;
    const content = [{ type: "image_url" as const, image_url: { url } }];
    const { usage } = answer({ model: "clean", messages: [{ role: "user", content }] });
    expect(usage.prompt_tokens).toBeLessThan(300);
  });

  test("n choices are n, within reason", () => {
    expect(answer(says("Hello", { n: 3 })).choices).toBe(3);
    expect(answer(says("Hello", { n: 1_000_000 })).choices).toBe(8);
    expect(answer(says("Hello", { n: -1 })).choices).toBe(1);
  });
});
