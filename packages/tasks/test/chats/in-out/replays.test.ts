import { expect, test } from "vitest";
import { chatToJson, importChats } from "@deltawire/tasks/chats";
import type { JsonValue } from "@deltawire/tasks";
import { WrittenChat } from "../written-chat.ts";
import { answer, blobUrl, dot, sampleBlobs, sampleWorld, sound, text } from "./sample-chat.ts";

/** What is wrong with a file whose only answer has this replay; the paths begin in it. */
function problems(replay: JsonValue): readonly string[] {
  const written = new WrittenChat({}, sampleWorld());
  const version = written.shownVersion(
    written.answer(written.user(null), "", answer([text("Yes.")])),
  );
  const exported_at = "2026-03-02T00:00:00.000Z";
  const file = chatToJson({ chat: written.chat, replays: {}, blobs: sampleBlobs, exported_at });
  const replays = { [version]: replay };
  const chats = file.chats.map((one) => ({ ...one, replays }));
  const imported = importChats({ ...file, chats }, sampleWorld("new"));
  const place = `chats[0].replays.${version}`;
  return imported.ok ? [] : imported.problems.map((one) => one.replace(place, ""));
}

const call = { type: "function_call", call_id: "call_1", name: "search", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "found" };
const message = (role: string, content: JsonValue) => ({ type: "message", role, content });

test("what answers are made of is let in, with fields that are not known", () => {
  expect(
    problems([
      { type: "reasoning", id: "rs_1", summary: [{ type: "summary_text", text: "Hm." }] },
      { type: "reasoning", summary: [], content: null, encrypted_content: "x", status: null },
      { ...call, id: "fc_1", status: "completed", from_later: { a: 1 } },
      { ...call, call_id: "call_2", arguments: "" },
      {
        ...output,
        call_id: "call_2",
        output: [
          { type: "input_text", text: "" },
          { type: "input_image", image_url: blobUrl(dot.hash), detail: "low" },
        ],
      },
      output,
      message("user", "Faster."),
      message("user", [
        { type: "input_text", text: "Faster." },
        { type: "input_audio", input_audio: { url: blobUrl(sound.hash) } },
        { type: "input_audio", input_audio: { data: "AAAA", format: "wav" } },
        { type: "input_file", file_url: blobUrl(dot.hash), filename: "a" },
        { type: "input_file", file_data: "data:,a", filename: "a" },
      ]),
      message("assistant", "Yes."),
      message("assistant", [
        { type: "output_text", text: "Yes.", annotations: [] },
        { type: "refusal", refusal: "No." },
      ]),
    ]),
  ).toEqual([]);
});

const parts = "must be a text or a list of parts";
test.each<[what: string, replay: JsonValue, problem: string]>([
  ["no list", {}, ": must be a list"],
  ["an item that is nothing", [{}], "[0].type: must be one of message, function_call"],
  ["an item that is no object", [7], "[0]: must be an object"],
  ["an item of another kind", [{ type: "item_reference", id: "x" }], "[0].type: must be one of"],
  ["words of the system", [message("system", "Obey.")], "[0].role: must be one of assistant, user"],
  ["words of a developer", [message("developer", "Obey.")], "[0].role: must be one of"],
  ["words that are a number", [message("assistant", 5)], `[0].content: ${parts}`],
  ["no words", [{ type: "message", role: "user" }], "[0].content: is missing"],
  [
    "a part of another kind",
    [message("user", [{ type: "text", text: "a" }])],
    "[0].content[0].type: must be one of input_text",
  ],
  [
    "a part of the user's in what the model said",
    [message("assistant", [{ type: "input_text", text: "a" }])],
    "[0].content[0].type: must be one of output_text, refusal",
  ],
  [
    "a text that is none",
    [message("assistant", [{ type: "output_text", text: null }])],
    "[0].content[0].text: must be a text",
  ],
  [
    "a picture without an address",
    [message("user", [{ type: "input_image", file_id: "file_1" }])],
    "[0].content[0].image_url: is missing",
  ],
  [
    "a sound that is none",
    [message("user", [{ type: "input_audio", input_audio: { data: "AAAA" } }])],
    "[0].content[0].input_audio.format: is missing",
  ],
  [
    "a file without bytes",
    [message("user", [{ type: "input_file", file_id: "file_1" }])],
    "[0].content[0]: must have a file_url or file_data",
  ],
  ["a call of nothing", [{ type: "function_call" }], "[0].call_id: is missing"],
  [
    "arguments that are no text",
    [{ ...call, arguments: {} }, output],
    "[0].arguments: must be a text",
  ],
  ["an output that is none", [call, { ...output, output: null }], `[1].output: ${parts}`],
  [
    "a thought that is none",
    [{ type: "reasoning", summary: ["Hm."] }],
    "[0].summary[0]: must be an object",
  ],
  ["a call without an output", [call], "[0].call_id: has no output"],
  ["an output without a call", [output], "[0].call_id: there is no call before it"],
  ["an output before its call", [output, call], "[0].call_id: there is no call before it"],
  ["two outputs of one call", [call, output, output], "[2].call_id: there is no call before it"],
  ["two calls of one id", [call, output, call, output], "[2].call_id: is that of another call"],
])("a replay with %s is refused, and the problem names its place", (_, replay, problem) => {
  expect(problems(replay)[0]?.slice(0, problem.length)).toBe(problem);
});
