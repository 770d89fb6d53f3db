import fc from "fast-check";
import { expect, test } from "vitest";
import {
  chatFaults,
  chatsFromOpenAi,
  chatToOpenAi,
  currentPath,
  importChats,
  type Chat,
  type FileBlob,
  type ImportedChat,
} from "@deltawire/tasks/chats";
import { runs } from "../../../../../test/runs.ts";
import { WrittenChat } from "../written-chat.ts";
import { anyChat } from "./any-chat.ts";
import {
  answer,
  blobUrl,
  call,
  dot,
  sampleBlobs,
  sampleChat,
  sampleReplays,
  sampleWorld,
  sound,
  text,
} from "./sample-chat.ts";

function imported(value: unknown): ImportedChat & { blobs: Readonly<Record<string, FileBlob>> } {
  const read = importChats(value, sampleWorld("new"));
  if (!read.ok) throw new Error(read.problems.join("\n"));
  const [one] = read.chats;
  if (one === undefined || read.chats.length > 1) throw new Error("there is not one chat");
  return { ...one, blobs: read.blobs };
}

function problems(value: unknown): string {
  const read = chatsFromOpenAi(value, sampleWorld());
  return read.ok ? "" : read.problems.join("\n");
}

function kinds(chat: Chat): string[] {
  return currentPath(chat).map(({ kind }) => kind);
}

test("messages that are exported, imported and exported again are the same", () => {
  fc.assert(
    fc.property(anyChat, (chat) => {
      const once = chatToOpenAi(chat, {}, sampleBlobs);
      fc.pre(once.messages.length > 0);
      const read = imported(JSON.parse(JSON.stringify(once)));
      expect(chatFaults(read.chat)).toEqual([]);
      const blobs = (hash: string) => read.blobs[hash];
      // With what the model is told, and with what people see alike.
      expect(chatToOpenAi(read.chat, read.replays, blobs)).toEqual(once);
      expect(chatToOpenAi(read.chat, {}, blobs)).toEqual(once);
    }),
    runs(200),
  );
});

test("a path is told with instructions, parts, calls and their results, and without reasoning", () => {
  const chat = sampleChat();
  const { messages } = chatToOpenAi(chat, {}, sampleBlobs);
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
        { type: "input_audio", input_audio: { data: sound.blob.base64, format: "wav" } },
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
    { role: "user", content: "Look at the colour." },
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

test("what the model was told of an answer wins over what people see", () => {
  const chat = sampleChat();
  const { messages } = chatToOpenAi(chat, sampleReplays(chat));
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

test("hidden nodes, failed answers and those that run are not exported", () => {
  const written = new WrittenChat({}, sampleWorld());
  const [, first] = written.turn(null, "one");
  const [second, answered] = written.turn(first, "two");
  written.edit({ type: "hide", node_id: second, value: true });
  const third = written.user(answered, "three");
  const failed = written.answer(third, "broken", { status: "error" });
  written.answer(written.user(failed, "four"), "half", { status: "running", task_id: "task_1" });
  expect(chatToOpenAi(written.chat).messages).toEqual([
    { role: "user", content: "one" },
    { role: "assistant", content: "re: one\n\nre: two" },
    { role: "user", content: "three" },
    { role: "user", content: "four" },
  ]);
});

test("of an answer that went on after it had failed, the beginning is exported too", () => {
  const written = new WrittenChat({}, sampleWorld());
  const failed = { ...answer([text("It is sun")]), status: "error" as const };
  const node_id = written.answer(written.user(null, "Weather?"), "", failed);
  expect(chatToOpenAi(written.chat).messages).toHaveLength(1);
  const continues = written.shownVersion(node_id);
  const more = { ...answer([text("ny in Paris.")]), continues };
  written.edit({ type: "add_answer_version", node_id, answer: more });
  expect(chatToOpenAi(written.chat).messages.at(-1)).toEqual({
    role: "assistant",
    content: "It is sun\n\nny in Paris.",
  });
});

test("of a spoken answer its words are exported, and of a picture that was made the picture", () => {
  const written = new WrittenChat({}, sampleWorld());
  const spoken = written.answer(written.user(null, "Say hello"), "", {
    ...answer([
      {
        type: "message",
        id: "msg_1",
        role: "assistant",
        block_list: [
          { type: "audio", audio_url: { url: blobUrl(sound.hash) }, transcript: "Hello!" },
          { type: "image", image_url: { url: blobUrl(dot.hash) } },
        ],
      },
    ]),
    model_type: "audio-tts",
  });
  const { messages } = chatToOpenAi(
    written.chat,
    { [written.shownVersion(spoken)]: [] },
    sampleBlobs,
  );
  expect(messages).toEqual([
    { role: "user", content: "Say hello" },
    { role: "assistant", content: "Hello!" },
    {
      role: "user",
      content: [
        { type: "text", text: "[What was made above:]" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${dot.blob.base64}` } },
      ],
    },
  ]);
});

test("a call without a result is exported with one that says so", () => {
  const written = new WrittenChat({}, sampleWorld());
  const asked = written.user(null, "go");
  written.answer(asked, "", answer(call("search", "", "gone").slice(0, 1), { status: "aborted" }));
  expect(chatToOpenAi(written.chat).messages.slice(1)).toEqual([
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

test("a log becomes a chat with items for people and native items for the model", () => {
  const { chat, replays } = imported({
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
  expect(kinds(chat)).toEqual(["user", "user", "answer"]);
  const answered = currentPath(chat).at(-1);
  const [version] = answered?.kind === "answer" ? answered.versions : [];
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

test("a log that begins with an answer gets an empty message before it, which is not exported", () => {
  const log = [{ role: "assistant", content: "Welcome." }];
  const { chat } = imported(log);
  expect(kinds(chat)).toEqual(["user", "answer"]);
  expect(currentPath(chat)[0]).toMatchObject({ versions: [{ text: "" }] });
  expect(chatToOpenAi(chat).messages).toEqual(log);
});

test("call ids that are missing or come again are replaced, and results find their calls", () => {
  const round = (id: object, of: object, result: string) => [
    {
      role: "assistant",
      content: null,
      tool_calls: [{ ...id, function: { name: "f", arguments: {} } }],
    },
    { role: "tool", ...of, content: result },
  ];
  const { chat } = imported([
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

test("a call that a log never answers has a result that says so", () => {
  const { chat, replays } = imported([
    { role: "user", content: "go" },
    {
      role: "assistant",
      tool_calls: [{ id: "call_a", type: "function", function: { name: "f", arguments: "" } }],
    },
    { role: "user", content: "and?" },
  ]);
  expect(kinds(chat)).toEqual(["user", "answer", "user"]);
  expect(Object.values(replays)).toEqual([
    [
      { type: "function_call", call_id: "call_a", name: "f", arguments: "{}" },
      { type: "function_call_output", call_id: "call_a", output: "This call was not run." },
    ],
  ]);
});

test("bytes in a log become blobs, and addresses stay addresses", () => {
  const { chat, blobs } = imported([
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: `data:image/png;base64,${dot.blob.base64}` } },
        { type: "image_url", image_url: { url: "https://example.com/a.png", detail: "low" } },
        { type: "input_audio", input_audio: { data: sound.blob.base64, format: "mp3" } },
        { type: "file", file: { filename: "a.pdf", file_data: "JVBERg==" } },
      ],
    },
  ]);
  const pdf = sampleWorld().blobHash("JVBERg==");
  expect(currentPath(chat)[0]).toMatchObject({
    versions: [
      {
        text: "look",
        attachments: [
          { kind: "image", url: blobUrl(dot.hash), media_type: "image/png", size: 85 },
          { kind: "image", url: "https://example.com/a.png" },
          { kind: "audio", url: blobUrl(sound.hash), media_type: "audio/mpeg" },
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
  expect(Object.keys(blobs)).toEqual([dot.hash, sound.hash, pdf]);
});

const user = { role: "user", content: "hi" };
const refusals: [string, unknown, RegExp][] = [
  ["an empty list", [], /must be a list with at least one message/],
  ["no list", { messages: "hi" }, /^messages: must be a list/],
  ["something that is no message", [user, "hi"], /^\[1\]: must be an object/],
  [
    "an unknown role",
    { messages: [{ role: "function", content: "" }] },
    /^messages\[0\]\.role: must be system/,
  ],
  [
    "a result without its call",
    [user, { role: "tool", tool_call_id: "a", content: "" }],
    /^\[1\]\.tool_call_id: there is no open call/,
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
    /^\[3\]\.tool_call_id: there is no open call/,
  ],
  [
    "two calls with one id in a message",
    [
      {
        role: "assistant",
        tool_calls: [
          { id: "call_a", function: { name: "f", arguments: "{}" } },
          { id: "call_a", function: { name: "f", arguments: "{}" } },
        ],
      },
    ],
    /^\[0\]\.tool_calls\[1\]\.id: is that of another call/,
  ],
  [
    "a call without a name",
    [{ role: "assistant", tool_calls: [{ id: "a" }] }],
    /^\[0\]\.tool_calls\[0\]\.function\.name/,
  ],
  [
    "calls that are no list",
    [{ role: "assistant", tool_calls: {} }],
    /^\[0\]\.tool_calls: must be a list/,
  ],
  ["a user who says nothing", [{ role: "user" }], /^\[0\]\.content: must be a string or a list/],
  [
    "a part nobody knows",
    [{ role: "user", content: [{ type: "video" }] }],
    /^\[0\]\.content\[0\]: type must be text/,
  ],
  [
    "an address that would be run",
    [{ role: "user", content: [{ type: "image_url", image_url: { url: "javascript:alert(1)" } }] }],
    /^\[0\]\.content\[0\]: image_url\.url must begin with http/,
  ],
  [
    "a file that is elsewhere",
    [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }],
    /a file_id cannot be read here/,
  ],
  ["a title that is no text", { title: 7, messages: [user] }, /^title: /],
  [
    "half a character",
    [{ role: "user", content: "\udc00" }],
    /^\[0\]\.content: has half a character/,
  ],
];
test.each(refusals)("a log with %s is refused as a whole", (_, value, said) => {
  expect(problems(value)).toMatch(said);
});

test("whatever comes is imported whole, or refused, and never throws", () => {
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
  const called = [{ name: "f", arguments: "{}" }, { name: "f", arguments: { a: [] } }, { name: 7 }];
  const message = fc.record(
    {
      role,
      content: fc.oneof(fc.string(), fc.constant(null), fc.array(part, { maxLength: 3 })),
      tool_calls: fc.array(
        fc.record({
          id,
          function: fc.constantFrom(...called),
        }),
        { maxLength: 2 },
      ),
      tool_call_id: id,
    },
    { requiredKeys: ["role"] },
  );
  let read = 0;
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
        const result = importChats(log, sampleWorld());
        const { problems: told, chats } = { problems: [], chats: [], ...result };
        expect([told.length > 0, chats.length]).toEqual(result.ok ? [false, 1] : [true, 0]);
        read += chats.length;
        for (const { chat } of chats) expect(chatFaults(chat)).toEqual([]);
      },
    ),
    runs(500),
  );
  // Some thirty of them are whole.
  expect(read).toBeGreaterThan(5);
});

test("texts that look like a context of ours come back as they were", () => {
  const look = '<context kind="file" title="a">\nb\n</context>';
  const written = new WrittenChat({}, sampleWorld());
  written.edit({
    type: "add_message",
    parent: null,
    message: {
      text: look,
      contexts: [{ kind: "page", title: 'a "b"\n', text: "c", url: "https://d" }],
    },
  });
  const once = chatToOpenAi(written.chat);
  const { chat } = imported(once.messages);
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
  expect(currentPath(imported([{ role: "user", content: look }]).chat)[0]).toMatchObject({
    versions: [{ text: look, contexts: [] }],
  });
});

test("words that only resemble a context of ours stay words", () => {
  const content = [
    { type: "text", text: '<context kind="file" title="\\u0041">\nb\n</context>' },
    { type: "image_url", image_url: { url: "https://example.com/a.png" } },
  ];
  const { chat } = imported([{ role: "user", content }]);
  expect(currentPath(chat)[0]).toMatchObject({
    versions: [{ text: content[0]?.text, contexts: [] }],
  });
  expect(chatToOpenAi(chat).messages).toEqual([{ role: "user", content }]);
});
