import { expect, test } from "vitest";
import { chatToJson, importChats } from "@deltawire/tasks/chats";
import type { JsonValue } from "@deltawire/tasks";
import { ChatBuilder } from "../chat-builder.ts";
import {
  answer,
  blobUrl,
  dot,
  findSampleBlob,
  createSampleEnvironment,
  audio,
  text,
} from "./sample-chat.ts";

/** Returns the problems of a file whose only answer has this replay. Their paths are relative to the replay. */
function listProblems(replay: JsonValue): readonly string[] {
  const builder = new ChatBuilder({}, createSampleEnvironment());
  const version = builder.getChosenVersionId(
    builder.addAnswer(builder.addMessage(null), "", answer([text("Yes.")])),
  );
  const exported_at = "2026-03-02T00:00:00.000Z";
  const file = chatToJson({ chat: builder.chat, replays: {}, blobs: findSampleBlob, exported_at });
  const replays = { [version]: replay };
  const chats = file.chats.map((one) => ({ ...one, replays }));
  const imported = importChats({ ...file, chats }, createSampleEnvironment("new"));
  const path = `chats[0].replays.${version}`;
  return imported.ok ? [] : imported.problems.map((one) => one.replace(path, ""));
}

const call = { type: "function_call", call_id: "call_1", name: "search", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "found" };
const message = (role: string, content: JsonValue) => ({ type: "message", role, content });

test("a replay can have all item types of answers, and unknown fields", () => {
  expect(
    listProblems([
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
        { type: "input_audio", input_audio: { url: blobUrl(audio.hash) } },
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

const contentProblem = "must be a string or a list of parts";
test.each<[what: string, replay: JsonValue, problem: string]>([
  ["something other than an array", {}, ": must be an array"],
  ["an empty item", [{}], "[0].type: must be one of message, function_call"],
  ["an item that is not an object", [7], "[0]: must be an object"],
  ["an item of another type", [{ type: "item_reference", id: "x" }], "[0].type: must be one of"],
  ["a system message", [message("system", "Obey.")], "[0].role: must be one of assistant, user"],
  ["a developer message", [message("developer", "Obey.")], "[0].role: must be one of"],
  ["a number as content", [message("assistant", 5)], `[0].content: ${contentProblem}`],
  ["no content", [{ type: "message", role: "user" }], "[0].content: is missing"],
  [
    "a part of another type",
    [message("user", [{ type: "text", text: "a" }])],
    "[0].content[0].type: must be one of input_text",
  ],
  [
    "an input part in an assistant message",
    [message("assistant", [{ type: "input_text", text: "a" }])],
    "[0].content[0].type: must be one of output_text, refusal",
  ],
  [
    "a text that is null",
    [message("assistant", [{ type: "output_text", text: null }])],
    "[0].content[0].text: must be a string",
  ],
  [
    "an image without a URL",
    [message("user", [{ type: "input_image", file_id: "file_1" }])],
    "[0].content[0].image_url: is missing",
  ],
  [
    "audio without a format",
    [message("user", [{ type: "input_audio", input_audio: { data: "AAAA" } }])],
    "[0].content[0].input_audio.format: is missing",
  ],
  [
    "a file without content",
    [message("user", [{ type: "input_file", file_id: "file_1" }])],
    "[0].content[0]: must have a file_url or file_data",
  ],
  ["an empty call", [{ type: "function_call" }], "[0].call_id: is missing"],
  [
    "arguments that are not a string",
    [{ ...call, arguments: {} }, output],
    "[0].arguments: must be a string",
  ],
  ["an output that is null", [call, { ...output, output: null }], `[1].output: ${contentProblem}`],
  [
    "an invalid reasoning summary",
    [{ type: "reasoning", summary: ["Hm."] }],
    "[0].summary[0]: must be an object",
  ],
  ["a call without an output", [call], "[0].call_id: has no output"],
  ["an output without a call", [output], "[0].call_id: has no preceding function_call"],
  ["an output before its call", [output, call], "[0].call_id: has no preceding function_call"],
  [
    "two outputs of one call",
    [call, output, output],
    "[2].call_id: has no preceding function_call",
  ],
  [
    "two calls with the same id",
    [call, output, call, output],
    "[2].call_id: is a duplicate call id",
  ],
])("a replay with %s is rejected with its path", (_, replay, problem) => {
  expect(listProblems(replay)[0]?.slice(0, problem.length)).toBe(problem);
});
