import {
  chatOfChat,
  chatRequest,
  genericProfile,
  responseOfChat,
  withFlags,
  type JsonObject,
  type LeakDialect,
  type ToolBridge,
} from "@deltawire/wire";
import fc from "fast-check";
import { expect, test } from "vitest";
import { runs } from "../../../test/runs.ts";
import { workTime } from "../../../test/work-time.ts";
import { chatSequenceFaults } from "../check/chat-sequence.ts";
import { playToChat, playToResponses } from "../check/play.ts";
import { responseSequenceFaults } from "../check/response-sequence.ts";
import { saidOnChat, saidOnResponses } from "../check/said.ts";
import { LeakedCalls, type LeakPiece } from "../src/chat-upstream/leaked-calls.ts";
import { body, call, chunk } from "./chat-stream.ts";

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
const all: LeakDialect[] = ["hermes", "qwen-xml", "kimi"];

/** Text as it stands, and in each place of a call its name and arguments in ⟦⟧. */
function split(pieces: string[], dialects: readonly LeakDialect[] = all): string {
  const leaks = new LeakedCalls(dialects, { names, schemas });
  const out: LeakPiece[] = [];
  for (const piece of pieces) leaks.push(piece, out);
  leaks.end(out);
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
const found = `⟦get_weather ${paris}⟧`;

const calls: [title: string, content: string, expected: string][] = [
  ["Hermes", hermes, found],
  ["Hermes, text around it", `I look.\n${hermes}\n\nDone.`, `I look.\n${found}\n\nDone.`],
  [
    "blanks before, between and behind calls are markup",
    `\n\n${hermes}\n${hermes}\n`,
    found + found,
  ],
  [
    "Hermes, arguments first",
    `<tool_call>{"arguments":${paris},"name":"get_weather"}</tool_call>`,
    found,
  ],
  [
    "Hermes, parameters for arguments",
    `<tool_call>{"name":"get_weather","parameters":${paris}}</tool_call>`,
    found,
  ],
  [
    "Hermes, arguments as a string of JSON",
    `<tool_call>{"name":"get_weather","arguments":${JSON.stringify(paris)}}</tool_call>`,
    found,
  ],
  [
    "Hermes, an empty string for arguments",
    '<tool_call>{"name":"get_time","arguments":""}</tool_call>',
    "⟦get_time ⟧",
  ],
  ["Hermes, no arguments", '<tool_call>{"name":"get_time"}</tool_call>', "⟦get_time {}⟧"],
  [
    "Hermes, a brace too many",
    `<tool_call>{"name":"get_weather","arguments":${paris}}}</tool_call>.`,
    `${found}.`,
  ],
  [
    "Hermes, a brace too few",
    `<tool_call>{"name":"get_weather","arguments":${paris}</tool_call>.`,
    `${found}.`,
  ],
  ["Hermes, no closing tag", hermes.replace("</tool_call>", ""), found],
  ["Hermes, a closing tag cut off", hermes.slice(0, -3), found],
  [
    "Hermes, the next call instead of a closing tag",
    hermes.replace("</tool_call>", "") + hermes,
    found + found,
  ],
  [
    "Hermes, the closing tag in a string",
    '<tool_call>{"name":"write_file","arguments":{"text":"a</tool_call>\\"<"}}</tool_call>',
    '⟦write_file {"text":"a</tool_call>\\"<"}⟧',
  ],
  [
    "Hermes, digits that JavaScript cannot hold",
    '<tool_call>{"name":"get_time","arguments":{"id":12345678901234567890}}</tool_call>',
    '⟦get_time {"id":12345678901234567890}⟧',
  ],
  [
    "Hermes, cut in the arguments",
    `a <tool_call>{"name":"get_weather","arguments":{"ci`,
    'a ⟦get_weather {"ci⟧',
  ],
  [
    "Hermes, cut before the arguments",
    `<tool_call>{"name":"get_weather", "argum`,
    "⟦get_weather {⟧",
  ],
  ["Qwen", qwen, found],
  ["Qwen, without line ends", qwen.replaceAll("\n", ""), found],
  [
    "Qwen, two parameters and values of several lines",
    "<tool_call><function=write_file><parameter=path>\n/a\n</parameter><parameter=text>\n x\n\ny \n</parameter></function></tool_call>",
    '⟦write_file {"path":"/a","text":" x\\n\\ny "}⟧',
  ],
  ["Qwen, no parameter", "<tool_call><function=get_time></function></tool_call>", "⟦get_time {}⟧"],
  ["Qwen, without the outer tag", qwen.replaceAll(/<\/?tool_call>/g, ""), found],
  ["Qwen, only the outer closing tag", qwen.replace("<tool_call>", ""), found],
  ["Qwen, without the function's closing tag", qwen.replace("</function>", ""), found],
  [
    "Qwen, two functions in one tag",
    qwen.replace("</function>", "</function>\n<function=get_time>\n</function>"),
    `${found}⟦get_time {}⟧`,
  ],
  [
    "Qwen, the parameter's closing tag in a value",
    "<function=write_file><parameter=text>\na</parameter>b\n</parameter></function>",
    '⟦write_file {"text":"a</parameter>b"}⟧',
  ],
  [
    "Qwen, a forgotten closing tag: the call is left open",
    "<function=write_file><parameter=text>\na\n<parameter=path>\n/b\n</parameter></function>.",
    '⟦write_file {"text":"a\\n<parameter=path>\\n/b"⟧.',
  ],
  ["Qwen, cut in a value", qwen.slice(0, qwen.indexOf("ris")), "⟦get_weather {⟧"],
  [
    "Qwen, cut behind a value",
    qwen.slice(0, qwen.indexOf("</function>")),
    '⟦get_weather {"city":"Paris"⟧',
  ],
  ["Qwen, cut in a parameter's name", qwen.slice(0, qwen.indexOf("ity>")), "⟦get_weather {⟧"],
  ["Kimi", kimi, found],
  [
    "Kimi, two calls",
    section(kimiCall("functions.get_weather:0") + kimiCall("functions.get_time:1", "{}")),
    `${found}⟦get_time {}⟧`,
  ],
  ["Kimi, the singular", kimi.replaceAll("tool_calls_section", "tool_call_section"), found],
  [
    "Kimi, without a section",
    `Now ${kimiCall("functions.get_weather:0")} then`,
    `Now ${found} then`,
  ],
  ["Kimi, functions_NAME_INDEX", kimiCall("functions_get_weather_0"), found],
  ["Kimi, functionsNAMEINDEX", kimiCall("functionsget_weather12"), found],
  ["Kimi, functions.NAMEINDEX", kimiCall("functions.get_weather3"), found],
  ["Kimi, NAME:INDEX", kimiCall("get_weather:3"), found],
  ["Kimi, a name that ends in a digit", kimiCall("functions.exec1:0"), `⟦exec1 ${paris}⟧`],
  ["Kimi, no arguments", kimiCall("functions.get_time:0", ""), "⟦get_time ⟧"],
  [
    "Kimi, an end token in a string",
    kimiCall("functions.write_file:0", '{"text":"<|tool_call_end|>"}'),
    '⟦write_file {"text":"<|tool_call_end|>"}⟧',
  ],
  ["Kimi, the section's end for the call's", kimi.replace("<|tool_call_end|>", ""), found],
  ["Kimi, cut in the arguments", kimi.slice(0, kimi.indexOf("ris")), '⟦get_weather {"city":"Pa⟧'],
  ["Kimi, cut before the arguments", kimi.slice(0, kimi.indexOf("{")), "⟦get_weather {⟧"],
  [
    "a tag that is spoken of, and then a call",
    `Write <tool_call> so: ${hermes}`,
    `Write <tool_call> so: ${found}`,
  ],
  ["a call behind closed code", `\`\`\`\nx\n\`\`\`\n${hermes}`, `\`\`\`\nx\n\`\`\`\n${found}`],
  ["a call behind a closed span", `\`x\` ${hermes}`, `\`x\` ${found}`],
  ["a call on the line behind a lone backtick", `it\`s\n${hermes}`, `it\`s\n${found}`],
];

test.each(calls)("%s", (_title, content, expected) => {
  expect(split([content])).toBe(expected);
  expect(split(content.split(""))).toBe(expected);
});

test.each([
  ["a name nobody offered", hermes.replace("get_weather", "get_stocks")],
  [
    "the same in XML, with a call of an offered tool in a value",
    qwen.replace("get_weather", "note").replace("Paris", hermes),
  ],
  ["the same in tokens", section(kimiCall("functions.get_stocks:0"))],
  ["an id that may be two tools", kimiCall("functionsexec15")],
  ["no JSON", "<tool_call>get_weather</tool_call>"],
  ["words behind the JSON", `<tool_call>{"name":"get_weather"} and more</tool_call>`],
  ["JSON without a name", '<tool_call>{"city":"Paris"}</tool_call>'],
  ["a name that is cut off", '<tool_call>{"name":"get_wea'],
  ["an opening tag at the end", "Hi <tool_call>"],
  ["half an opening tag at the end", "Hi <tool_c"],
  ["words in the XML", "<function=get_weather> is how it begins"],
  ["a function's name that is cut off", "<tool_call><function=get_wea"],
  ["a closing tag alone", "</tool_call> </function> <|tool_calls_section_end|>"],
  ["a section without a call", "<|tool_calls_section_begin|>Hi"],
  ["an id that never ends", `<|tool_call_begin|>${"x".repeat(300)}`],
  ["a fence", `\`\`\`xml\n${hermes}\n\`\`\``],
  ["a fence of tildes, indented", `  ~~~~\n${qwen}\n~~~\n${kimi}\n  ~~~~`],
  ["a fence that never closes", `\`\`\`\n${kimi}`],
  ["a fence with a shorter one inside", `\`\`\`\`\n\`\`\`\n${hermes}\n\`\`\`\`\n`],
  ["a span", `Use \`<function=get_time></function>\` here`],
  ["a span of two backticks", `Use \`\`a\` <function=get_time></function>\`\` here`],
  ["a span of three at a line's beginning", `\`\`\`<function=get_time></function>\`\`\` here`],
  ["blanks", " \n\n "],
  ["HTML", "<p>a < b</p>"],
  ["nothing", ""],
])("%s stays text", (_title, content) => {
  expect(split([content])).toBe(content);
  expect(split(content.split(""))).toBe(content);
});

test("a span of three backticks that closes on its line is no fence", () => {
  expect(split([`\`\`\`x\`\`\` ${hermes}`])).toBe(`\`\`\`x\`\`\` ${found}`);
});

test("only the dialects of the profile are read", () => {
  expect(split([hermes + qwen + kimi], ["hermes"])).toBe(found + qwen + kimi);
  expect(split([hermes + qwen + kimi], ["qwen-xml"])).toBe(hermes + found + kimi);
  expect(split([hermes + qwen + kimi], ["kimi"])).toBe(hermes + qwen + found);
});

test("text around calls is not held back", () => {
  const leaks = new LeakedCalls(all, { names, schemas });
  const live = (text: string) => {
    const out: LeakPiece[] = [];
    leaks.push(text, out);
    return out.map((piece) => (piece.type === "text" ? piece.text : "call"));
  };
  expect(live("Hel")).toEqual(["Hel"]);
  expect(live("lo <")).toEqual(["lo "]);
  expect(live("b> \n")).toEqual(["<b> \n"]);
  expect(live(hermes)).toEqual(["call"]);
  expect(live(" so ")).toEqual([" so "]);
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

test("what is found does not depend on where the text was cut", () => {
  fc.assert(
    fc.property(content, fc.array(fc.integer({ min: 1, max: 30 })), (text, lengths) => {
      const pieces: string[] = [];
      let at = 0;
      for (const length of lengths) pieces.push(text.slice(at, (at += length)));
      pieces.push(text.slice(at));
      const whole = split([text]);
      expect(split(pieces)).toBe(whole);
      expect(split(text.split(""))).toBe(whole);
    }),
    runs(1500),
  );
});

test("text without an opening tag comes out as it went in", () => {
  const harmless = fc.array(
    fc.oneof(
      fc.string(),
      fc.constantFrom("<tool", "<", "`", "\n", "</tool_call>", "<|", "<functio"),
    ),
  );
  fc.assert(
    fc.property(harmless, (pieces) => {
      const text = pieces.join("").replaceAll(/<(?:tool_call|function=|\|tool_call)/g, "");
      expect(split([text])).toBe(text);
    }),
    runs(500),
  );
});

const profile = withFlags(genericProfile, { leakedCalls: all });
const tools: ToolBridge = {
  upstreamNames: names,
  schemas,
  declared: (name) => (names.has(name) ? { kind: "function", name } : undefined),
};

/** What both kinds of client were told; they must agree. */
function play(chunks: unknown[], done = true) {
  const responses = playToResponses(body(chunks, done), { tools, profile });
  const chat = playToChat(body(chunks, done), { tools, profile });
  expect(responseSequenceFaults(responses.out)).toEqual([]);
  expect(chatSequenceFaults(chat.out)).toEqual([]);
  const said = saidOnResponses(responses.out);
  const chatSaid = saidOnChat(chat.out, 0);
  const brief = (calls: typeof said.calls) =>
    calls.map(({ name, arguments: args }) => [name, args]);
  expect(brief(chatSaid.calls)).toEqual(brief(said.calls));
  expect(chatSaid.text).toBe(said.text);
  return {
    text: said.text,
    calls: said.calls.map(({ name, arguments: args, whole }) => ({ name, args, whole })),
    ids: said.calls.map(({ id }) => id),
    order: said.order,
    status: said.status,
    finish: chatSaid.finish,
    repairs: responses.repairs.list.map(({ code, detail }) => [code, detail]),
  };
}
const weather = { name: "get_weather", args: paris, whole: true };

test("a leaked call is an ordinary call: the finish is corrected and the words are on record", () => {
  const said = play([
    chunk({ content: "I look. " }),
    chunk({ content: hermes }),
    chunk({}, "stop"),
  ]);
  expect(said).toMatchObject({
    text: "I look. ",
    calls: [weather],
    order: "tc",
    status: "completed",
    finish: "tool_calls",
  });
  expect(said.repairs).toContainEqual(["call_leaked", hermes]);
  expect(said.repairs).toContainEqual(["finish_corrected", "stop"]);
});

test("after <think> too, and Kimi's ids are kept", () => {
  const said = play([chunk({ content: `<think>hm</think>\n\n${kimi}` }), chunk({}, "stop")]);
  expect(said).toMatchObject({ text: "", calls: [weather], order: "rc" });
  expect(said.ids).toEqual(["functions.get_weather:0"]);
});

test("without the flag, and without tools, it is text", () => {
  const chunks = body([chunk({ content: hermes }), chunk({}, "stop")]);
  expect(saidOnResponses(playToResponses(chunks, { tools }).out)).toMatchObject({
    text: hermes,
    calls: [],
  });
  expect(saidOnChat(playToChat(chunks, { profile }).out, 0)).toMatchObject({
    text: hermes,
    calls: [],
  });
});

test.each([
  ["at stop", "stop", "incomplete"],
  ["at length", "length", "incomplete"],
])("a leaked call that is cut off is not whole: %s", (_title, word, status) => {
  const said = play([chunk({ content: hermes.slice(0, hermes.indexOf("ris")) }), chunk({}, word)]);
  expect(said.status).toBe(status);
  expect(said.calls).toEqual([{ name: "get_weather", args: '{"city":"Pa', whole: false }]);
});

test("at length even a whole one is not", () => {
  const said = play([chunk({ content: hermes }), chunk({}, "length")]);
  expect(said.calls).toEqual([{ ...weather, whole: false }]);
});

test("when the connection breaks, nothing of it may run", () => {
  const said = play([chunk({ content: hermes })], false);
  expect(said).toMatchObject({ status: "failed", calls: [{ ...weather, whole: false }] });
});

test("two leaked calls are two, even if they are equal", () => {
  const said = play([chunk({ content: `${qwen}\n${qwen}` }), chunk({}, "stop")]);
  expect(said.calls).toEqual([weather, weather]);
  expect(new Set(said.ids).size).toBe(2);
});

const real = (args = paris) =>
  chunk(call({ index: 0, id: "call_real", name: "get_weather", args }));

test.each([
  ["before", [real(), chunk({ content: hermes })]],
  ["behind", [chunk({ content: hermes }), real()]],
  [
    "around",
    [real('{"city":'), chunk({ content: hermes }), chunk(call({ index: 0, args: '"Paris"}' }))],
  ],
])("a call that comes as a call too runs once: the call %s the text", (_title, chunks) => {
  const said = play([...chunks, chunk({}, "tool_calls")]);
  expect(said.calls).toEqual([weather]);
  expect(said.repairs).toContainEqual(["call_repeated", "get_weather"]);
});

test("blanks before a call of the server's own stay where they were", () => {
  const said = play([chunk({ content: "\n\n" }), real(), chunk({}, "tool_calls")]);
  expect(said).toMatchObject({ text: "\n\n", order: "tc", calls: [weather] });
});

test("another call that comes as a call is another call", () => {
  const rome = '{"city":"Rome"}';
  const said = play([chunk({ content: hermes }), real(rome), chunk({}, "tool_calls")]);
  expect(said.calls).toEqual([weather, { ...weather, args: rome }]);
});

test("a whole reply leaks as a stream does", () => {
  const reply = {
    id: "chatcmpl-1",
    choices: [
      { index: 0, message: { role: "assistant", content: `Hi ${qwen}` }, finish_reason: "stop" },
    ],
  };
  const newId = (prefix: string) => `${prefix}_000001`;
  const { response } = responseOfChat(reply, {
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
  const chat = chatOfChat(reply, { newId, createdAt: 1, toolNames: names, profile });
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

test("the schemas of a translated request type the values, under the names that the upstream knows", () => {
  const { tools: bridge } = chatRequest({
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
  const { out } = playToResponses(body([chunk({ content }), chunk({}, "stop")]), {
    tools: bridge,
    profile,
  });
  expect(saidOnResponses(out).calls).toMatchObject([
    { name: "find", namespace: "mcp", arguments: '{"zip":"75001","page":2}', whole: true },
  ]);
});

test("any stream with such markup is a legal sequence on both wires, and the clients are told the same", () => {
  const structured = fc
    .record({
      id: fc.constantFrom("call_aaa", "call_bbb"),
      args: fc.constantFrom(paris, '{"city":', "{}"),
    })
    .map(({ id, args }) => call({ index: 0, id, name: "get_weather", args }));
  const said = fc.oneof(
    { weight: 4, arbitrary: token.map((text) => ({ content: text })) },
    structured,
  );
  fc.assert(
    fc.property(
      fc.array(said, { maxLength: 12 }),
      fc.constantFrom("stop", "tool_calls", "length", "error"),
      fc.boolean(),
      (deltas, word, done) => {
        const said = play([...deltas.map((delta) => chunk(delta)), chunk({}, word)], done);
        const mayRun = word === "stop" || word === "tool_calls";
        expect(said.calls.filter(({ whole }) => whole && !mayRun)).toEqual([]);
      },
    ),
    runs(400),
  );
});

test("a value of 450 KB that comes four characters at a time takes no second look at any of it", () => {
  const text = "<p>x</p>\n".repeat(50_000);
  const block = `<function=write_file><parameter=text>\n${text}</parameter></function>`;
  const leaks = new LeakedCalls(all, { names, schemas });
  const out: LeakPiece[] = [];
  const took = workTime(() => {
    for (let at = 0; at < block.length; at += 4) leaks.push(block.slice(at, at + 4), out);
    leaks.end(out);
  });
  expect(out).toMatchObject([{ type: "call", call: { name: "write_file" } }]);
  expect(took).toBeLessThan(2000);
});
