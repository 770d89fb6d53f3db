import {
  repairChatReply,
  translateResponsesRequest,
  genericProfile,
  translateChatReply,
  withProfileFlags,
  type JsonObject,
  type LeakDialect,
  type ToolTranslation,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { propertyRuns } from "../../../test/property-runs.ts";
import { measureCpuTime } from "../../../test/cpu-time.ts";
import { findChatSequenceFaults } from "../check/chat-sequence.ts";
import { playChatToChat, playChatToResponses } from "../check/play.ts";
import { findResponseSequenceFaults } from "../check/response-sequence.ts";
import { readChatEvents, readResponseEvents } from "../check/reply-content.ts";
import {
  LeakedCallExtractor,
  type LeakedCallSegment,
} from "../src/chat-upstream/leaked-call-extractor.ts";
import { body, call, chunk } from "./chat-chunks.ts";

const names = new Set(["get_weather", "get_time", "write_file", "exec", "exec1"]);
const schemas = new Map<string, JsonObject>([
  [
    "write_file",
    {
      type: "object",
      properties: { path: { type: "string" }, text: { type: "string" }, mode: { type: "integer" } },
    },
  ],
]);
const allDialects: LeakDialect[] = ["hermes", "qwen-xml", "kimi"];

/** Returns the text with each call replaced by ⟦name arguments⟧. */
function extract(pieces: string[], dialects: readonly LeakDialect[] = allDialects): string {
  const extractor = new LeakedCallExtractor(dialects, { names, schemas });
  const out: LeakedCallSegment[] = [];
  for (const piece of pieces) extractor.push(piece, out);
  extractor.end(out);
  return out
    .map((piece) =>
      piece.type === "text" ? piece.text : `⟦${piece.call.name} ${piece.call.arguments}⟧`,
    )
    .join("");
}

const paris = '{"city":"Paris"}';
const hermes = `<tool_call>\n{"name": "get_weather", "arguments": ${paris}}\n</tool_call>`;
const qwen =
  "<tool_call>\n<function=get_weather>\n<parameter=city>\nParis\n</parameter>\n</function>\n</tool_call>";
const kimiCall = (id: string, args = paris) =>
  `<|tool_call_begin|>${id}<|tool_call_argument_begin|>${args}<|tool_call_end|>`;
const section = (calls: string) => `<|tool_calls_section_begin|>${calls}<|tool_calls_section_end|>`;
const kimi = section(kimiCall("functions.get_weather:0"));
const extractedParis = `⟦get_weather ${paris}⟧`;

const calls: [title: string, content: string, expected: string][] = [
  ["a Hermes call", hermes, extractedParis],
  [
    "a Hermes call with text around it",
    `I look.\n${hermes}\n\nDone.`,
    `I look.\n${extractedParis}\n\nDone.`,
  ],
  [
    "white space around Hermes calls is removed",
    `\n\n${hermes}\n${hermes}\n`,
    extractedParis + extractedParis,
  ],
  [
    "a Hermes call with arguments before the name",
    `<tool_call>{"arguments":${paris},"name":"get_weather"}</tool_call>`,
    extractedParis,
  ],
  [
    "a Hermes call with parameters instead of arguments",
    `<tool_call>{"name":"get_weather","parameters":${paris}}</tool_call>`,
    extractedParis,
  ],
  [
    "a Hermes call with arguments as a JSON string",
    `<tool_call>{"name":"get_weather","arguments":${JSON.stringify(paris)}}</tool_call>`,
    extractedParis,
  ],
  [
    "a Hermes call with an empty string as arguments",
    '<tool_call>{"name":"get_time","arguments":""}</tool_call>',
    "⟦get_time ⟧",
  ],
  [
    "a Hermes call without arguments",
    '<tool_call>{"name":"get_time"}</tool_call>',
    "⟦get_time {}⟧",
  ],
  [
    "a Hermes call with an extra closing brace",
    `<tool_call>{"name":"get_weather","arguments":${paris}}}</tool_call>.`,
    `${extractedParis}.`,
  ],
  [
    "a Hermes call without the last closing brace",
    `<tool_call>{"name":"get_weather","arguments":${paris}</tool_call>.`,
    `${extractedParis}.`,
  ],
  ["a Hermes call without a closing tag", hermes.replace("</tool_call>", ""), extractedParis],
  ["a Hermes call with a truncated closing tag", hermes.slice(0, -3), extractedParis],
  [
    "a Hermes call that ends where the next one starts",
    hermes.replace("</tool_call>", "") + hermes,
    extractedParis + extractedParis,
  ],
  [
    "a Hermes call with the closing tag in a string",
    '<tool_call>{"name":"write_file","arguments":{"text":"a</tool_call>\\"<"}}</tool_call>',
    '⟦write_file {"text":"a</tool_call>\\"<"}⟧',
  ],
  [
    "a Hermes call with an integer beyond JavaScript's precision",
    '<tool_call>{"name":"get_time","arguments":{"id":12345678901234567890}}</tool_call>',
    '⟦get_time {"id":12345678901234567890}⟧',
  ],
  [
    "a Hermes call truncated in the arguments",
    `a <tool_call>{"name":"get_weather","arguments":{"ci`,
    'a ⟦get_weather {"ci⟧',
  ],
  [
    "a Hermes call truncated before the arguments",
    `<tool_call>{"name":"get_weather", "argum`,
    "⟦get_weather {⟧",
  ],
  ["a Qwen call", qwen, extractedParis],
  ["a Qwen call without line breaks", qwen.replaceAll("\n", ""), extractedParis],
  [
    "a Qwen call with two parameters and multiline values",
    "<tool_call><function=write_file><parameter=path>\n/a\n</parameter><parameter=text>\n x\n\ny \n</parameter></function></tool_call>",
    '⟦write_file {"path":"/a","text":" x\\n\\ny "}⟧',
  ],
  [
    "a Qwen call without parameters",
    "<tool_call><function=get_time></function></tool_call>",
    "⟦get_time {}⟧",
  ],
  ["a Qwen call without the outer tag", qwen.replaceAll(/<\/?tool_call>/g, ""), extractedParis],
  ["a Qwen call with only the outer closing tag", qwen.replace("<tool_call>", ""), extractedParis],
  ["a Qwen call without the closing function tag", qwen.replace("</function>", ""), extractedParis],
  [
    "two Qwen functions in one outer tag",
    qwen.replace("</function>", "</function>\n<function=get_time>\n</function>"),
    `${extractedParis}⟦get_time {}⟧`,
  ],
  [
    "a Qwen call with the closing parameter tag in a value",
    "<function=write_file><parameter=text>\na</parameter>b\n</parameter></function>",
    '⟦write_file {"text":"a</parameter>b"}⟧',
  ],
  [
    "a Qwen call with a missing closing tag, which stays incomplete",
    "<function=write_file><parameter=text>\na\n<parameter=path>\n/b\n</parameter></function>.",
    '⟦write_file {"text":"a\\n<parameter=path>\\n/b"⟧.',
  ],
  ["a Qwen call truncated in a value", qwen.slice(0, qwen.indexOf("ris")), "⟦get_weather {⟧"],
  [
    "a Qwen call truncated after a value",
    qwen.slice(0, qwen.indexOf("</function>")),
    '⟦get_weather {"city":"Paris"⟧',
  ],
  [
    "a Qwen call truncated in a parameter name",
    qwen.slice(0, qwen.indexOf("ity>")),
    "⟦get_weather {⟧",
  ],
  ["a Kimi call", kimi, extractedParis],
  [
    "two Kimi calls in a section",
    section(kimiCall("functions.get_weather:0") + kimiCall("functions.get_time:1", "{}")),
    `${extractedParis}⟦get_time {}⟧`,
  ],
  [
    "a Kimi call in a section with a singular tag",
    kimi.replaceAll("tool_calls_section", "tool_call_section"),
    extractedParis,
  ],
  [
    "a Kimi call without a section",
    `Now ${kimiCall("functions.get_weather:0")} then`,
    `Now ${extractedParis} then`,
  ],
  ["a Kimi call with id functions_NAME_INDEX", kimiCall("functions_get_weather_0"), extractedParis],
  ["a Kimi call with id functionsNAMEINDEX", kimiCall("functionsget_weather12"), extractedParis],
  ["a Kimi call with id functions.NAMEINDEX", kimiCall("functions.get_weather3"), extractedParis],
  ["a Kimi call with id NAME:INDEX", kimiCall("get_weather:3"), extractedParis],
  [
    "a Kimi call with a name that ends in a digit",
    kimiCall("functions.exec1:0"),
    `⟦exec1 ${paris}⟧`,
  ],
  ["a Kimi call without arguments", kimiCall("functions.get_time:0", ""), "⟦get_time ⟧"],
  [
    "a Kimi call with an end token in a string",
    kimiCall("functions.write_file:0", '{"text":"<|tool_call_end|>"}'),
    '⟦write_file {"text":"<|tool_call_end|>"}⟧',
  ],
  [
    "a Kimi call that ends with the end of its section",
    kimi.replace("<|tool_call_end|>", ""),
    extractedParis,
  ],
  [
    "a Kimi call truncated in the arguments",
    kimi.slice(0, kimi.indexOf("ris")),
    '⟦get_weather {"city":"Pa⟧',
  ],
  [
    "a Kimi call truncated before the arguments",
    kimi.slice(0, kimi.indexOf("{")),
    "⟦get_weather {⟧",
  ],
  [
    "a call after an opening tag that is only mentioned",
    `Write <tool_call> so: ${hermes}`,
    `Write <tool_call> so: ${extractedParis}`,
  ],
  [
    "a call after a code block",
    `\`\`\`\nx\n\`\`\`\n${hermes}`,
    `\`\`\`\nx\n\`\`\`\n${extractedParis}`,
  ],
  ["a call after a code span", `\`x\` ${hermes}`, `\`x\` ${extractedParis}`],
  [
    "a call on the line after an unmatched backtick",
    `it\`s\n${hermes}`,
    `it\`s\n${extractedParis}`,
  ],
];

test.each(calls)("finds the leaked calls: %s", (_title, content, expected) => {
  expect(extract([content])).toBe(expected);
  expect(extract(content.split(""))).toBe(expected);
});

test.each([
  ["a Hermes call of an undeclared tool", hermes.replace("get_weather", "get_stocks")],
  [
    "a Qwen call of an undeclared tool, even with a call of a declared tool in a value",
    qwen.replace("get_weather", "note").replace("Paris", hermes),
  ],
  ["a Kimi call of an undeclared tool", section(kimiCall("functions.get_stocks:0"))],
  ["a Kimi id that matches two tools", kimiCall("functionsexec15")],
  ["a Hermes call that is not JSON", "<tool_call>get_weather</tool_call>"],
  [
    "a Hermes call with words after the JSON",
    `<tool_call>{"name":"get_weather"} and more</tool_call>`,
  ],
  ["a Hermes call without a name", '<tool_call>{"city":"Paris"}</tool_call>'],
  ["a Hermes call with a truncated name", '<tool_call>{"name":"get_wea'],
  ["an opening tag at the end", "Hi <tool_call>"],
  ["a truncated opening tag at the end", "Hi <tool_c"],
  ["a Qwen tag with words after it", "<function=get_weather> is how it begins"],
  ["a Qwen call with a truncated name", "<tool_call><function=get_wea"],
  ["a closing tag without an opening one", "</tool_call> </function> <|tool_calls_section_end|>"],
  ["a Kimi section without a call", "<|tool_calls_section_begin|>Hi"],
  ["a Kimi id of 300 characters", `<|tool_call_begin|>${"x".repeat(300)}`],
  ["a call in a code fence", `\`\`\`xml\n${hermes}\n\`\`\``],
  ["a call in an indented fence of tildes", `  ~~~~\n${qwen}\n~~~\n${kimi}\n  ~~~~`],
  ["a call in an unclosed fence", `\`\`\`\n${kimi}`],
  ["a call in a fence that contains a shorter one", `\`\`\`\`\n\`\`\`\n${hermes}\n\`\`\`\`\n`],
  ["a call in a code span", `Use \`<function=get_time></function>\` here`],
  ["a call in a span of two backticks", `Use \`\`a\` <function=get_time></function>\`\` here`],
  [
    "a call in a span of three backticks at the start of a line",
    `\`\`\`<function=get_time></function>\`\`\` here`,
  ],
  ["white space", " \n\n "],
  ["HTML", "<p>a < b</p>"],
  ["empty text", ""],
])("%s stays text", (_title, content) => {
  expect(extract([content])).toBe(content);
  expect(extract(content.split(""))).toBe(content);
});

test("three backticks that close on the same line are not a code fence", () => {
  expect(extract([`\`\`\`x\`\`\` ${hermes}`])).toBe(`\`\`\`x\`\`\` ${extractedParis}`);
});

test("only leaked calls in the dialects of the profile are found", () => {
  expect(extract([hermes + qwen + kimi], ["hermes"])).toBe(extractedParis + qwen + kimi);
  expect(extract([hermes + qwen + kimi], ["qwen-xml"])).toBe(hermes + extractedParis + kimi);
  expect(extract([hermes + qwen + kimi], ["kimi"])).toBe(hermes + qwen + extractedParis);
});

test("text before and after leaked calls is not held back", () => {
  const extractor = new LeakedCallExtractor(allDialects, { names, schemas });
  const pushText = (text: string) => {
    const out: LeakedCallSegment[] = [];
    extractor.push(text, out);
    return out.map((piece) => (piece.type === "text" ? piece.text : "call"));
  };
  expect(pushText("Hel")).toEqual(["Hel"]);
  expect(pushText("lo <")).toEqual(["lo "]);
  expect(pushText("b> \n")).toEqual(["<b> \n"]);
  expect(pushText(hermes)).toEqual(["call"]);
  expect(pushText(" so ")).toEqual([" so "]);
});

const token = fc.constantFrom(
  ...hermes.split(/(?<=[>\n":{])/),
  ...qwen.split(/(?<=[>\n=])/),
  ...kimi.split(/(?<=>)/),
  hermes,
  qwen,
  kimi,
  "```",
  "`",
  "~~~",
  "\n",
  " ",
  "}",
  "<",
  "q",
);
const content = fc.array(token, { maxLength: 14 }).map((tokens) => tokens.join(""));

test("the same leaked calls are found, however the text is split", () => {
  fc.assert(
    fc.property(content, fc.array(fc.integer({ min: 1, max: 30 })), (text, lengths) => {
      const pieces: string[] = [];
      let at = 0;
      for (const length of lengths) pieces.push(text.slice(at, (at += length)));
      pieces.push(text.slice(at));
      const unsplit = extract([text]);
      expect(extract(pieces)).toBe(unsplit);
      expect(extract(text.split(""))).toBe(unsplit);
    }),
    propertyRuns(1500),
  );
});

test("text without an opening tag is unchanged", () => {
  const harmless = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom("<tool", "<", "`", "\n", "</tool_call>", "<|", "<functio"),
    ),
  );
  fc.assert(
    fc.property(harmless, (pieces) => {
      const text = pieces.join("").replaceAll(/<(?:tool_call|function=|\|tool_call)/g, "");
      expect(extract([text])).toBe(text);
    }),
    propertyRuns(500),
  );
});

const profile = withProfileFlags(genericProfile, { leakedCalls: allDialects });
const tools: ToolTranslation = {
  upstreamNames: names,
  schemas,
  findDeclared: (name) => (names.has(name) ? { kind: "function", name } : undefined),
};

/** Returns the content that both kinds of client receive. Fails if they differ. */
function play(chunks: unknown[], done = true) {
  const responses = playChatToResponses(body(chunks, done), { tools, profile });
  const chat = playChatToChat(body(chunks, done), { tools, profile });
  expect(findResponseSequenceFaults(responses.out)).toEqual([]);
  expect(findChatSequenceFaults(chat.out)).toEqual([]);
  const content = readResponseEvents(responses.out);
  const chatContent = readChatEvents(chat.out, 0);
  const toPairs = (calls: typeof content.calls) =>
    calls.map(({ name, arguments: args }) => [name, args]);
  expect(toPairs(chatContent.calls)).toEqual(toPairs(content.calls));
  expect(chatContent.text).toBe(content.text);
  return {
    text: content.text,
    calls: content.calls.map(({ name, arguments: args, isComplete }) => ({
      name,
      args,
      isComplete,
    })),
    ids: content.calls.map(({ id }) => id),
    order: content.order,
    status: content.status,
    finish: chatContent.finish,
    repairs: responses.repairs.list.map(({ code, detail }) => [code, detail]),
  };
}
const weather = { name: "get_weather", args: paris, isComplete: true };

test("a leaked call becomes a tool call with a corrected finish reason and a repair", () => {
  const content = play([
    chunk({ content: "I look. " }),
    chunk({ content: hermes }),
    chunk({}, "stop"),
  ]);
  expect(content).toMatchObject({
    text: "I look. ",
    calls: [weather],
    order: "tc",
    status: "completed",
    finish: "tool_calls",
  });
  expect(content.repairs).toContainEqual(["call_leaked", hermes]);
  expect(content.repairs).toContainEqual(["finish_corrected", "stop"]);
});

test("leaked calls after <think> are found, and Kimi's ids are preserved", () => {
  const content = play([chunk({ content: `<think>hm</think>\n\n${kimi}` }), chunk({}, "stop")]);
  expect(content).toMatchObject({ text: "", calls: [weather], order: "rc" });
  expect(content.ids).toEqual(["functions.get_weather:0"]);
});

test("a leaked call stays text without the profile flag or without tools", () => {
  const chunks = body([chunk({ content: hermes }), chunk({}, "stop")]);
  expect(readResponseEvents(playChatToResponses(chunks, { tools }).out)).toMatchObject({
    text: hermes,
    calls: [],
  });
  expect(readChatEvents(playChatToChat(chunks, { profile }).out, 0)).toMatchObject({
    text: hermes,
    calls: [],
  });
});

test.each([
  ["stop", "stop", "incomplete"],
  ["length", "length", "incomplete"],
])(
  "a truncated leaked call is incomplete with finish reason %s",
  (_title, finishReason, status) => {
    const content = play([
      chunk({ content: hermes.slice(0, hermes.indexOf("ris")) }),
      chunk({}, finishReason),
    ]);
    expect(content.status).toBe(status);
    expect(content.calls).toEqual([
      { name: "get_weather", args: '{"city":"Pa', isComplete: false },
    ]);
  },
);

test("even a complete leaked call counts as incomplete with the finish reason length", () => {
  const content = play([chunk({ content: hermes }), chunk({}, "length")]);
  expect(content.calls).toEqual([{ ...weather, isComplete: false }]);
});

test("a leaked call counts as incomplete if the connection is lost", () => {
  const content = play([chunk({ content: hermes })], false);
  expect(content).toMatchObject({ status: "failed", calls: [{ ...weather, isComplete: false }] });
});

test("two equal leaked calls are two calls", () => {
  const content = play([chunk({ content: `${qwen}\n${qwen}` }), chunk({}, "stop")]);
  expect(content.calls).toEqual([weather, weather]);
  expect(new Set(content.ids).size).toBe(2);
});

const toolCallChunk = (args = paris) =>
  chunk(call({ index: 0, id: "call_real", name: "get_weather", args }));

test.each([
  ["before", [toolCallChunk(), chunk({ content: hermes })]],
  ["after", [chunk({ content: hermes }), toolCallChunk()]],
  [
    "around",
    [
      toolCallChunk('{"city":'),
      chunk({ content: hermes }),
      chunk(call({ index: 0, args: '"Paris"}' })),
    ],
  ],
])(
  "a leaked call that is also sent as a tool call %s the text is emitted once",
  (_title, chunks) => {
    const content = play([...chunks, chunk({}, "tool_calls")]);
    expect(content.calls).toEqual([weather]);
    expect(content.repairs).toContainEqual(["call_repeated", "get_weather"]);
  },
);

test("white space before a regular tool call is preserved", () => {
  const content = play([chunk({ content: "\n\n" }), toolCallChunk(), chunk({}, "tool_calls")]);
  expect(content).toMatchObject({ text: "\n\n", order: "tc", calls: [weather] });
});

test("a tool call whose arguments differ from the leaked call is emitted too", () => {
  const rome = '{"city":"Rome"}';
  const content = play([chunk({ content: hermes }), toolCallChunk(rome), chunk({}, "tool_calls")]);
  expect(content.calls).toEqual([weather, { ...weather, args: rome }]);
});

test("leaked calls are found in replies that are not streamed", () => {
  const reply = {
    id: "chatcmpl-1",
    choices: [
      { index: 0, message: { role: "assistant", content: `Hi ${qwen}` }, finish_reason: "stop" },
    ],
  };
  const newId = (prefix: string) => `${prefix}_000001`;
  const { response } = translateChatReply(reply, {
    responseId: "resp_1",
    newId,
    createdAt: 1,
    tools,
    profile,
  });
  expect(response.output).toMatchObject([
    { type: "message", content: [{ text: "Hi " }] },
    { type: "function_call", name: "get_weather", arguments: paris, status: "completed" },
  ]);
  const chat = repairChatReply(reply, { newId, createdAt: 1, toolNames: names, profile });
  expect(chat).toMatchObject({
    ok: true,
    completion: {
      choices: [
        {
          message: { content: "Hi ", tool_calls: [{ function: { name: "get_weather" } }] },
          finish_reason: "tool_calls",
        },
      ],
    },
  });
});

test("the values of a leaked call get their types from the schemas of the translated request", () => {
  const { tools: translatedTools } = translateResponsesRequest({
    model: "m",
    input: "Hi",
    tools: [
      {
        type: "namespace",
        name: "mcp",
        tools: [
          {
            type: "function",
            name: "find",
            parameters: {
              type: "object",
              properties: { zip: { type: "string" }, page: { type: "integer" } },
            },
          },
        ],
      },
    ],
  });
  const content =
    "<function=mcp__find><parameter=zip>75001</parameter><parameter=page>2</parameter></function>";
  const { out } = playChatToResponses(body([chunk({ content }), chunk({}, "stop")]), {
    tools: translatedTools,
    profile,
  });
  expect(readResponseEvents(out).calls).toMatchObject([
    { name: "find", namespace: "mcp", arguments: '{"zip":"75001","page":2}', isComplete: true },
  ]);
});

test("a stream with leaked calls is valid on both wires, and both clients receive the same content", () => {
  const toolCall = fc
    .record({
      id: fc.constantFrom("call_aaa", "call_bbb"),
      args: fc.constantFrom(paris, '{"city":', "{}"),
    })
    .map(({ id, args }) => call({ index: 0, id, name: "get_weather", args }));
  const delta = fc.oneof(
    { weight: 4, arbitrary: token.map((text) => ({ content: text })) },
    toolCall,
  );
  fc.assert(
    fc.property(
      fc.array(delta, { maxLength: 12 }),
      fc.constantFrom("stop", "tool_calls", "length", "error"),
      fc.boolean(),
      (deltas, finishReason, done) => {
        const content = play(
          [...deltas.map((fields) => chunk(fields)), chunk({}, finishReason)],
          done,
        );
        const canRun = finishReason === "stop" || finishReason === "tool_calls";
        expect(content.calls.filter(({ isComplete }) => isComplete && !canRun)).toEqual([]);
      },
    ),
    propertyRuns(400),
  );
});

test("a value of 450 KB in chunks of four characters is scanned only once", () => {
  const text = "<p>x</p>\n".repeat(50_000);
  const block = `<function=write_file><parameter=text>\n${text}</parameter></function>`;
  const extractor = new LeakedCallExtractor(allDialects, { names, schemas });
  const out: LeakedCallSegment[] = [];
  const milliseconds = measureCpuTime(() => {
    for (let at = 0; at < block.length; at += 4) extractor.push(block.slice(at, at + 4), out);
    extractor.end(out);
  });
  expect(out).toMatchObject([{ type: "call", call: { name: "write_file" } }]);
  expect(milliseconds).toBeLessThan(2000);
});
