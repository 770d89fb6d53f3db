import fc from "fast-check";
import { expect, test } from "vitest";
import {
  findChatFaults,
  chatsFromOpenAi,
  chatToOpenAi,
  currentPath,
  importChats,
  type Chat,
  type FileBlob,
  type ImportedChat,
} from "@deltawire/tasks/chats";
import { propertyRuns } from "../../../../../test/property-runs.ts";
import { ChatBuilder } from "../chat-builder.ts";
import { anyChat } from "./arbitrary-chat.ts";
import {
  answer,
  blobUrl,
  call,
  dot,
  findSampleBlob,
  createSampleChat,
  createSampleReplays,
  createSampleEnvironment,
  audio,
  text,
} from "./sample-chat.ts";

function importOne(value: unknown): ImportedChat & { blobs: Readonly<Record<string, FileBlob>> } {
  const read = importChats(value, createSampleEnvironment("new"));
  if (!read.ok) throw new Error(read.problems.join("\n"));
  const [one] = read.chats;
  if (one === undefined || read.chats.length > 1) throw new Error("expected one chat");
  return { ...one, blobs: read.blobs };
}

function listProblems(value: unknown): string {
  const read = chatsFromOpenAi(value, createSampleEnvironment());
  return read.ok ? "" : read.problems.join("\n");
}

function listKinds(chat: Chat): string[] {
  return currentPath(chat).map(({ kind }) => kind);
}

test("exported messages stay the same after an import and another export", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const once = chatToOpenAi(chat, {}, findSampleBlob);
      fc.pre(once.messages.length > 0);
      const read = importOne(JSON.parse(JSON.stringify(once)));
      expect(findChatFaults(read.chat)).toEqual([]);
      const blobs = (hash: string) => read.blobs[hash];
      // Once from the replays and once from the items.
      expect(chatToOpenAi(read.chat, read.replays, blobs)).toEqual(once);
      expect(chatToOpenAi(read.chat, {}, blobs)).toEqual(once);
    }),
    propertyRuns(200),
  );
});

test("the path is exported with instructions, parts, calls and results, but without reasoning", () => {
  const chat = createSampleChat();
  const { messages } = chatToOpenAi(chat, {}, findSampleBlob);
  expect(messages).toEqual([
    { role: "system", content: "Be brief." },
    {
      role: "user",
      content: [
        {
          type: "text",
          text: '<context kind="file" title="notes.md">\n```js\nlet a;\n```\n</context>',
        },
        { type: "text", text: "What is in this *picture*?" },
        {
          type: "image_url",
          image_url: { url: `data:image/png;base64,${dot.blob.base64}` },
        },
        { type: "input_audio", input_audio: { data: audio.blob.base64, format: "wav" } },
      ],
    },
    {
      role: "assistant",
      content: "Let me look.",
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: "search", arguments: '{"q":"red dot"}' },
        },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "A result with ```` four ticks" },
    { role: "user", content: "Look at the color." },
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "task_child", type: "function", function: { name: "helper", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "task_child", content: "The helper says red." },
    { role: "assistant", content: "A red dot [^1], not `[^1]`." },
    { role: "user", content: "Go on" },
    { role: "assistant", content: "Gone on." },
  ]);
});

test("replays take precedence over items", () => {
  const chat = createSampleChat();
  const { messages } = chatToOpenAi(chat, createSampleReplays(chat));
  expect(messages.slice(2, 6)).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [
        {
          id: "call_1",
          type: "function",
          function: { name: "search", arguments: '{"q":"red dot"}' },
        },
      ],
    },
    {
      role: "tool",
      tool_call_id: "call_1",
      content: `what the model saw\n[image: ${blobUrl(dot.hash)}]`,
    },
    { role: "user", content: "Faster." },
    { role: "assistant", content: "A red dot." },
  ]);
});

test("hidden nodes, failed answers and running answers are not exported", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const [, first] = builder.addTurn(null, "one");
  const [second, secondAnswer] = builder.addTurn(first, "two");
  builder.edit({ type: "hide", node_id: second, value: true });
  const third = builder.addMessage(secondAnswer, "three");
  const failed = builder.addAnswer(third, "broken", { status: "error" });
  builder.addAnswer(builder.addMessage(failed, "four"), "half", {
    status: "running",
    task_id: "task_1",
  });
  expect(chatToOpenAi(builder.chat).messages).toEqual([
    { role: "user", content: "one" },
    { role: "assistant", content: "re: one\n\nre: two" },
    { role: "user", content: "three" },
    { role: "user", content: "four" },
  ]);
});

test("a failed answer is exported if another version continues it", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const failed = { ...answer([text("It is sun")]), status: "error" as const };
  const node_id = builder.addAnswer(builder.addMessage(null, "Weather?"), "", failed);
  expect(chatToOpenAi(builder.chat).messages).toHaveLength(1);
  const continues = builder.getChosenVersionId(node_id);
  const continuation = { ...answer([text("ny in Paris.")]), continues };
  builder.edit({ type: "add_answer_version", node_id, answer: continuation });
  expect(chatToOpenAi(builder.chat).messages.at(-1)).toEqual({
    role: "assistant",
    content: "It is sun\n\nny in Paris.",
  });
});

test("the transcript of audio output and generated images are exported", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const mediaAnswer = builder.addAnswer(builder.addMessage(null, "Say hello"), "", {
    ...answer([
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        block_list: [
          { type: "audio", audio_url: { url: blobUrl(audio.hash) }, transcript: "Hello!" },
          { type: "image", image_url: { url: blobUrl(dot.hash) } },
        ],
      },
    ]),
    model_type: "audio-tts",
  });
  const { messages } = chatToOpenAi(
    builder.chat,
    { [builder.getChosenVersionId(mediaAnswer)]: [] },
    findSampleBlob,
  );
  expect(messages).toEqual([
    { role: "user", content: "Say hello" },
    { role: "assistant", content: "Hello!" },
    {
      role: "user",
      content: [
        { type: "text", text: "[Images from the answer above:]" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${dot.blob.base64}` } },
      ],
    },
  ]);
});

test("a call without a result is exported with a placeholder result", () => {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const prompt = builder.addMessage(null, "go");
  builder.addAnswer(
    prompt,
    "",
    answer(call("search", "", "gone").slice(0, 1), { status: "aborted" }),
  );
  expect(chatToOpenAi(builder.chat).messages.slice(1)).toEqual([
    {
      role: "assistant",
      content: null,
      tool_calls: [
        { id: "call_1", type: "function", function: { name: "search", arguments: "{}" } },
      ],
    },
    { role: "tool", tool_call_id: "call_1", content: "This call was not run." },
  ]);
});

test("messages are imported as items of answers and as replays", () => {
  const { chat, replays } = importOne({
    title: "A log",
    messages: [
      { role: "system", content: "Be kind." },
      { role: "developer", content: [{ type: "text", text: "Be brief." }] },
      { role: "user", content: "hi" },
      { role: "user", content: "are you there?" },
      {
        role: "assistant",
        content: "Let me see.",
        reasoning_content: "hm",
        tool_calls: [
          { id: "call_a", type: "function", function: { name: "f", arguments: '{"a":1}' } },
        ],
      },
      { role: "tool", tool_call_id: "call_a", content: [{ type: "text", text: "yes" }] },
      { role: "assistant", content: "Yes." },
    ],
  });
  expect(chat).toMatchObject({
    title: "A log",
    title_by: "user",
    settings: { instructions: "Be kind.\n\nBe brief." },
  });
  expect(listKinds(chat)).toEqual(["user", "user", "answer"]);
  const lastNode = currentPath(chat).at(-1);
  const [version] = lastNode?.kind === "answer" ? lastNode.versions : [];
  expect(version).toMatchObject({
    by: "user",
    status: "completed",
    output: [
      { type: "reasoning", summary: [{ text: "hm" }] },
      { type: "message", block_list: [{ type: "text", text: "Let me see." }] },
      { type: "tool_call", call_id: "call_a", name: "f", arguments: '{"a":1}' },
      { type: "tool_result", call_id: "call_a", block_list: [{ type: "text", text: "yes" }] },
      { type: "message", block_list: [{ type: "text", text: "Yes." }] },
    ],
  });
  expect(replays).toEqual({
    [version?.version_id ?? ""]: [
      {
        type: "message",
        role: "assistant",
        content: [{ type: "output_text", text: "Let me see." }],
      },
      { type: "function_call", call_id: "call_a", name: "f", arguments: '{"a":1}' },
      { type: "function_call_output", call_id: "call_a", output: "yes" },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: "Yes." }] },
    ],
  });
});

test("an empty message is added before a leading answer, and is not exported", () => {
  const log = [{ role: "assistant", content: "Welcome." }];
  const { chat } = importOne(log);
  expect(listKinds(chat)).toEqual(["user", "answer"]);
  expect(currentPath(chat)[0]).toMatchObject({ versions: [{ text: "" }] });
  expect(chatToOpenAi(chat).messages).toEqual(log);
});

test("missing and duplicate call ids are replaced, and results keep their calls", () => {
  const round = (id: object, of: object, result: string) => [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ ...id, function: { name: "f", arguments: {} } }],
    },
    { role: "tool", ...of, content: result },
  ];
  const { chat } = importOne([
    { role: "user", content: "go" },
    ...round({ id: "0" }, { tool_call_id: "0" }, "first"),
    ...round({ id: "0" }, { tool_call_id: "0" }, "second"),
    ...round({}, {}, "third"),
  ]);
  const { messages } = chatToOpenAi(chat);
  const results = messages.flatMap((one) => (one.role === "tool" ? [one] : []));
  expect(results.map(({ content }) => content)).toEqual(["first", "second", "third"]);
  expect(new Set(results.map(({ tool_call_id }) => tool_call_id)).size).toBe(3);
});

test("a call without a result is imported with a placeholder result", () => {
  const { chat, replays } = importOne([
    { role: "user", content: "go" },
    {
      role: "assistant",
      tool_calls: [{ id: "call_a", type: "function", function: { name: "f", arguments: "" } }],
    },
    { role: "user", content: "and?" },
  ]);
  expect(listKinds(chat)).toEqual(["user", "answer", "user"]);
  expect(Object.values(replays)).toEqual([
    [
      { type: "function_call", call_id: "call_a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "call_a", output: "This call was not run." },
    ],
  ]);
});

test("inline media are imported as blobs, and URLs stay URLs", () => {
  const { chat, blobs } = importOne([
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${dot.blob.base64}` } },
        { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
        { type: "input_audio", input_audio: { data: audio.blob.base64, format: "mp3" } },
        { type: "file", file: { filename: "a.pdf", file_data: "JVBERg==" } },
      ],
    },
  ]);
  const pdf = createSampleEnvironment().hashBlob("JVBERg==");
  expect(currentPath(chat)[0]).toMatchObject({
    versions: [
      {
        text: "look",
        attachments: [
          { kind: "image", url: blobUrl(dot.hash), media_type: "image/png", size: 85 },
          { kind: "image", url: "https://example.com/a.png" },
          { kind: "audio", url: blobUrl(audio.hash), media_type: "audio/mpeg" },
          {
            kind: "file",
            url: blobUrl(pdf),
            filename: "a.pdf",
            media_type: "application/pdf",
            size: 4,
          },
        ],
      },
    ],
  });
  expect(Object.keys(blobs)).toEqual([dot.hash, audio.hash, pdf]);
});

const user = { role: "user", content: "hi" };
const rejections: [string, unknown, RegExp][] = [
  ["an empty array", [], /must be an array with at least one message/],
  ["something other than an array", { messages: "hi" }, /^messages: must be an array/],
  ["something other than a message", [user, "hi"], /^\[1\]: must be an object/],
  [
    "an unknown role",
    { messages: [{ role: "function", content: "" }] },
    /^messages\[0\]\.role: must be system/,
  ],
  [
    "a result without a call",
    [user, { role: "tool", tool_call_id: "a", content: "" }],
    /^\[1\]\.tool_call_id: must be the id of an earlier tool call/,
  ],
  [
    "two results of one call",
    [
      user,
      {
        role: "assistant",
        tool_calls: [{ id: "call_a", function: { name: "f", arguments: "{}" } }],
      },
      { role: "tool", tool_call_id: "call_a", content: "" },
      { role: "tool", tool_call_id: "call_a", content: "" },
    ],
    /^\[3\]\.tool_call_id: must be the id of an earlier tool call/,
  ],
  [
    "two calls with the same id in a message",
    [
      {
        role: "assistant",
        tool_calls: [
          { id: "call_a", function: { name: "f", arguments: "{}" } },
          { id: "call_a", function: { name: "f", arguments: "{}" } },
        ],
      },
    ],
    /^\[0\]\.tool_calls\[1\]\.id: is a duplicate/,
  ],
  [
    "a call without a name",
    [{ role: "assistant", tool_calls: [{ id: "a" }] }],
    /^\[0\]\.tool_calls\[0\]\.function\.name/,
  ],
  [
    "calls that are not an array",
    [{ role: "assistant", tool_calls: {} }],
    /^\[0\]\.tool_calls: must be an array/,
  ],
  [
    "a user message without content",
    [{ role: "user" }],
    /^\[0\]\.content: must be a string or a list/,
  ],
  [
    "an unknown type of part",
    [{ role: "user", content: [{ type: "video" }] }],
    /^\[0\]\.content\[0\]: type must be text/,
  ],
  [
    "a URL that would be executed",
    [{ role: "user", content: [{ type: "image_url", image_url: { url: "javascript:alert(1)" } }] }],
    /^\[0\]\.content\[0\]: image_url\.url must be an http/,
  ],
  [
    "a file URL that would be executed",
    [{ role: "user", content: [{ type: "file", file: { file_url: "javascript:alert(1)" } }] }],
    /^\[0\]\.content\[0\]: file\.file_url must be an http/,
  ],
  [
    "a file id",
    [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }],
    /file_id is not supported/,
  ],
  ["a title that is not a string", { title: 7, messages: [user] }, /^title: /],
  [
    "a lone surrogate",
    [{ role: "user", content: "\udc00" }],
    /^\[0\]\.content: must not contain lone surrogates/,
  ],
];
test.each(rejections)("messages with %s are rejected", (_, value, problem) => {
  expect(listProblems(value)).toMatch(problem);
});

test("any value is imported completely or rejected, and never throws", () => {
  const role = fc.constantFrom("user", "user", "assistant", "assistant", "tool", "system", "x", 7);
  const id = fc.constantFrom("a", "a", "b", "", null, undefined, 7);
  const part = fc.constantFrom(
    { type: "text", text: "a" },
    { type: "text", text: 7 },
    {},
    null,
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
    { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
    { type: "file", file: { file_data: "data:text/plain;base64,AAAA" } },
  );
  const anyFunction = [
    { name: "f", arguments: "{}" },
    { name: "f", arguments: { a: [] } },
    { name: 7 },
  ];
  const message = fc.record(
    {
      role,
      content: fc.oneof(fc.string(), fc.constant(null), fc.array(part, { maxLength: 3 })),
      tool_calls: fc.array(
        fc.record({
          id,
          function: fc.constantFrom(...anyFunction),
        }),
        { maxLength: 2 },
      ),
      tool_call_id: id,
    },
    { requiredKeys: ["role"] },
  );
  let importedCount = 0;
  fc.assert(
    fc.property(
      fc.array(
        fc.oneof(
          { weight: 9, arbitrary: message },
          { weight: 1, arbitrary: fc.anything({ maxDepth: 1 }) },
        ),
        { maxLength: 6 },
      ),
      (log) => {
        const result = importChats(log, createSampleEnvironment());
        const { problems: reported, chats } = { problems: [], chats: [], ...result };
        expect([reported.length > 0, chats.length]).toEqual(result.ok ? [false, 1] : [true, 0]);
        importedCount += chats.length;
        for (const { chat } of chats) expect(findChatFaults(chat)).toEqual([]);
      },
    ),
    propertyRuns(500),
  );
  // About thirty of the random values are valid.
  expect(importedCount).toBeGreaterThan(5);
});

test("text that looks like context snippets is exported unchanged after an import", () => {
  const contextLike = '<context kind="file" title="a">\nb\n</context>';
  const builder = new ChatBuilder({}, createSampleEnvironment());
  builder.edit({
    type: "add_message",
    parent: null,
    message: {
      text: contextLike,
      contexts: [{ kind: "page", title: 'a "b"\n', text: "c", url: "https://d" }],
    },
  });
  const once = chatToOpenAi(builder.chat);
  const { chat } = importOne(once.messages);
  expect(currentPath(chat)[0]).toMatchObject({
    versions: [
      {
        contexts: [
          { kind: "page", title: 'a "b"\n', text: "c", url: "https://d" },
          { title: "a", text: "b" },
        ],
      },
    ],
  });
  expect(chatToOpenAi(chat).messages).toEqual(once.messages);
  expect(currentPath(importOne([{ role: "user", content: contextLike }]).chat)[0]).toMatchObject({
    versions: [{ text: contextLike, contexts: [] }],
  });
});

test("text that only resembles context snippets stays text", () => {
  const content = [
    { type: "text", text: '<context kind="file" title="\\u0041">\nb\n</context>' },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
  ];
  const { chat } = importOne([{ role: "user", content }]);
  expect(currentPath(chat)[0]).toMatchObject({
    versions: [{ text: content[0]?.text, contexts: [] }],
  });
  expect(chatToOpenAi(chat).messages).toEqual([{ role: "user", content }]);
});
