import { isBlobHash } from "../../blobs.ts";
import { itemStatuses, outcomes } from "../../item-status.ts";
import { taskStatuses } from "../../task-status.ts";
import {
  isFlag,
  isNatural,
  isPlainObject,
  isText,
  listOf,
  listUpTo,
  oneOf,
  orNull,
  problem,
  shaped,
  type Check,
} from "../check-value.ts";
import { checkMessage, checkSettings, checkTags } from "../chat-schemas.ts";
import {
  anything,
  atLeast,
  isAmount,
  isId,
  isTime,
  recordOf,
  tagged,
  textUpTo,
} from "./check-json.ts";
import { checkReplay } from "./check-replay.ts";

/*
 * What may stand in a file of chats. Items and blocks may have more fields than are known here, and keep them: they are
 * what a model and its tools have made, and other versions of this program may say more about them.
 */

/** All fields are needed but those that `optional` names; no others are known. */
function exactly(
  needed: Readonly<Record<string, Check>>,
  optional: Readonly<Record<string, Check>> = {},
): Check {
  return shaped({ ...needed, ...optional }, Object.keys(needed));
}

const usage = exactly(
  { input_tokens: isNatural, output_tokens: isNatural, total_tokens: isNatural },
  { cached_tokens: isNatural, reasoning_tokens: isNatural, cost: isAmount, estimated: isFlag },
);

const url = atLeast({ url: isText });
const annotation = atLeast({
  type: isText,
  reference_id: isNatural,
  start_index: isNatural,
  end_index: isNatural,
});

const blocks: Readonly<Record<string, Check>> = {
  text: atLeast({ text: isText }, { id: isNatural, annotations: listOf(annotation) }),
  image: atLeast({ image_url: url }, { id: isNatural }),
  audio: atLeast({ audio_url: url }, { transcript: isText, id: isNatural }),
  file: atLeast({ file_url: url }, { filename: isText, media_type: isText, id: isNatural }),
  data: atLeast({ data: anything }, { id: isNatural }),
};

const content = listOf(
  tagged("type", {
    text: atLeast({ text: isText }),
    image_url: atLeast({ image_url: url }),
    audio_url: atLeast({ audio_url: url }),
    file_url: atLeast({ file_url: url }, { filename: isText, media_type: isText }),
  }),
);

const status = oneOf(...itemStatuses);
const outcome = oneOf(...outcomes);

const summary = listOf(atLeast({ text: isText }));
const items: Readonly<Record<string, Check>> = {
  reasoning: atLeast({ id: isText, summary }, { status, content: summary, duration_ms: isAmount }),
  tool_call: atLeast(
    { id: isText, call_id: isText, name: isText, arguments: isText },
    { status, outcome, child_task_ids: listOf(isText) },
  ),
  tool_result: atLeast(
    // A sub-agent's items stand in the result of the call that asked it.
    { id: isText, call_id: isText, block_list: (value, path) => blocksAndItems(value, path) },
    { status, outcome, content },
  ),
  message: atLeast(
    { id: isText, role: oneOf("assistant"), block_list: listOf(tagged("type", blocks)) },
    { status, content },
  ),
};
const blocksAndItems = listOf(tagged("type", { ...blocks, ...items }));

const ofReference = {
  reference_id: isNatural,
  item_id: isText,
  block_indexes: listOf(isNatural),
};
const fromWhere = {
  source: atLeast({ task_id: isText, reference_id: isNatural }),
  title: isText,
  url: isText,
};
const reference = atLeast(ofReference, fromWhere);
const childReference = atLeast({ ...ofReference, task_id: isText }, fromWhere);

const input = exactly(
  {
    item: atLeast({ type: oneOf("message"), id: isText, role: oneOf("user"), content }),
    delivery: oneOf("steer", "queue"),
  },
  { taken_at: isNatural },
);

const warnings = listOf(exactly({ code: isText, message: isText, count: isNatural }));

/** An answer of an earlier release has it beside its items. */
const chain = exactly(
  {
    calls: listOf(
      exactly(
        { call_id: isText, round: isNatural, name: isText, arguments: isText, outcome: isText },
        {
          task_id: isText,
          changed_arguments: isText,
          result: isText,
          started_at: isTime,
          duration_ms: isAmount,
          decisions: listOf(isText),
          error: exactly({ code: isText, message: isText }),
          usage,
        },
      ),
    ),
    stats: exactly({
      rounds: isNatural,
      calls: isNatural,
      outcomes: recordOf(isId, isNatural),
      model_ms: isAmount,
      tool_ms: isAmount,
      waited_ms: isAmount,
    }),
  },
  { warnings },
);

const output = listOf(
  tagged("type", { ...items, retracted: atLeast({ id: isText, reason: isText }) }),
);
const executions = listOf(
  atLeast(
    { call_id: isText },
    { started_at: isTime, outcome: isText, duration_ms: isAmount, error: isText },
  ),
);
const ofTask = {
  usage,
  tree_usage: usage,
  round: isNatural,
  executions,
  inputs: listOf(input),
  warnings,
  model_ms: isAmount,
  waited_ms: isAmount,
};
const childTask = atLeast(
  {
    task_id: isText,
    info: atLeast({ agent: isText, depth: isNatural }, { parent_task_id: isText }),
    status: oneOf(...taskStatuses),
    output,
    usage,
    round: isNatural,
    executions,
    inputs: ofTask.inputs,
  },
  {
    ...ofTask,
    error: atLeast({ code: isText, message: isText }),
    ended: atLeast({}, { reason: isText }),
  },
);
const approval = atLeast(
  {
    approval_id: isText,
    kind: oneOf("call", "result", "question", "limit", "reconcile"),
    task_id: isText,
    status: oneOf("pending", "resolved", "expired"),
  },
  {
    call_id: isText,
    tool: isText,
    resolution: atLeast({ decision: isText }, { arguments: isText, reason: isText }),
  },
);

const ofVersion = { version_id: isId, created_at: isTime };

const userVersion: Check = (value, path) => {
  if (!isPlainObject(value)) return problem(path, "must be an object");
  const { version_id: _id, created_at: _time, follows, ...message } = value;
  const lists = { attachments: anything, contexts: anything };
  return [
    ...atLeast({ ...ofVersion, ...lists })(value, path),
    ...checkMessage(message, path),
    ...(follows === undefined ? [] : isId(follows, `${path}.follows`)),
  ];
};

const answerVersion = exactly(
  {
    ...ofVersion,
    by: oneOf("model", "user"),
    status: oneOf("running", "completed", "aborted", "error", "timeout"),
    model_type: oneOf("chat", "image-gen", "image-edit", "audio-stt", "audio-tts"),
    output,
    references: listOf(reference),
    notices: listOf(isText),
  },
  {
    agent: isText,
    model: isText,
    task_id: isText,
    waiting: isFlag,
    answers: isId,
    continues: isId,
    masked_with: isText,
    child_references: listOf(childReference),
    child_tasks: recordOf(isText, childTask),
    approvals: listOf(approval),
    error: exactly({ phase: oneOf("model", "tool", "approval"), code: isText, message: isText }),
    ...ofTask,
    time_ms: isAmount,
    chain,
  },
);

const ofTree = {
  node_id: isId,
  parent: orNull(isId),
  children: listOf(isId),
  created_at: isTime,
  pinned: isFlag,
  hidden: isFlag,
  kind: anything,
};

const node = tagged("kind", {
  user: exactly({ ...ofTree, versions: listUpTo(10_000, userVersion), version: isId }),
  answer: exactly({ ...ofTree, versions: listUpTo(10_000, answerVersion), version: isId }),
  separator: exactly(ofTree),
});

const chat = exactly(
  {
    chat_id: isId,
    title: textUpTo(300),
    title_by: oneOf("nobody", "model", "user"),
    created_at: isTime,
    updated_at: isTime,
    revision: isNatural,
    settings: checkSettings,
    tags: checkTags,
    pinned: isFlag,
    nodes: recordOf(isId, node),
    roots: listOf(isId),
    chosen: recordOf((key, path) => (key === "" ? [] : isId(key, path)), isId),
    bookmarks: listOf(isId),
  },
  { extra_usage: usage },
);

const variable = exactly({
  name: isId,
  call_id: isText,
  of: isText,
  tool: isText,
  length: isNatural,
  url: isText,
  created_at: isTime,
});

const isHash: Check = (value, path) =>
  typeof value === "string" && isBlobHash(value)
    ? []
    : problem(path, "must be the SHA-256 of a blob, in hex");

/** One node of a chat, under its id. */
export const checkNode: Check = node;

/** The shape of a whole file; what its parts say of each other is another question. */
export const checkChatFile: Check = exactly({
  format: anything,
  version: anything,
  exported_at: isTime,
  chats: listUpTo(
    100_000,
    exactly(
      { chat, replays: recordOf(isId, checkReplay) },
      { variables: listUpTo(100_000, variable) },
    ),
  ),
  blobs: recordOf(isHash, exactly({ media_type: textUpTo(200), base64: anything })),
});
