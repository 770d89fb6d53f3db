import { isBlobHash } from "../../blobs.ts";
import { itemStatuses, callOutcomes } from "../../item-status.ts";
import { taskStatuses } from "../../task-status.ts";
import {
  checkBoolean,
  checkNatural,
  isPlainObject,
  checkText,
  arrayOf,
  boundedArrayOf,
  oneOf,
  nullOr,
  createProblem,
  strictObjectOf,
  type ValueCheck,
} from "../value-checks.ts";
import { checkMessage, checkSettings, checkTags } from "../chat-schemas.ts";
import {
  acceptAny,
  looseObjectOf,
  checkNonNegative,
  checkId,
  checkTime,
  recordOf,
  variantOf,
  textWithMaxLength,
} from "./file-checks.ts";
import { checkReplay } from "./check-replay.ts";

/*
 * Checks for chat files. Items and blocks may have additional fields, which are retained: models and tools produce them, and
 * other versions of this program may add more.
 */

/** Returns a check for objects with all fields of `required`. Fields that are neither required nor optional are rejected. */
function exactObjectOf(
  required: Readonly<Record<string, ValueCheck>>,
  optional: Readonly<Record<string, ValueCheck>> = {},
): ValueCheck {
  return strictObjectOf({ ...required, ...optional }, Object.keys(required));
}

const checkUsage = exactObjectOf(
  { input_tokens: checkNatural, output_tokens: checkNatural, total_tokens: checkNatural },
  {
    cached_tokens: checkNatural,
    reasoning_tokens: checkNatural,
    cost: checkNonNegative,
    estimated: checkBoolean,
  },
);

const checkUrl = looseObjectOf({ url: checkText });
const checkAnnotation = looseObjectOf({
  type: checkText,
  reference_id: checkNatural,
  start_index: checkNatural,
  end_index: checkNatural,
});

const blockChecks: Readonly<Record<string, ValueCheck>> = {
  text: looseObjectOf(
    { text: checkText },
    { id: checkNatural, annotations: arrayOf(checkAnnotation) },
  ),
  image: looseObjectOf({ image_url: checkUrl }, { id: checkNatural }),
  audio: looseObjectOf({ audio_url: checkUrl }, { transcript: checkText, id: checkNatural }),
  file: looseObjectOf(
    { file_url: checkUrl },
    { filename: checkText, media_type: checkText, id: checkNatural },
  ),
  data: looseObjectOf({ data: acceptAny }, { id: checkNatural }),
};

const checkContent = arrayOf(
  variantOf("type", {
    text: looseObjectOf({ text: checkText }),
    image_url: looseObjectOf({ image_url: checkUrl }),
    audio_url: looseObjectOf({ audio_url: checkUrl }),
    file_url: looseObjectOf({ file_url: checkUrl }, { filename: checkText, media_type: checkText }),
  }),
);

const checkItemStatus = oneOf(...itemStatuses);
const checkOutcome = oneOf(...callOutcomes);

const checkSummary = arrayOf(looseObjectOf({ text: checkText }));
const itemChecks: Readonly<Record<string, ValueCheck>> = {
  reasoning: looseObjectOf(
    { id: checkText, summary: checkSummary },
    { status: checkItemStatus, content: checkSummary, duration_ms: checkNonNegative },
  ),
  tool_call: looseObjectOf(
    { id: checkText, call_id: checkText, name: checkText, arguments: checkText },
    { status: checkItemStatus, outcome: checkOutcome, child_task_ids: arrayOf(checkText) },
  ),
  tool_result: looseObjectOf(
    // The items of a sub-agent are in the result of the call that started it.
    {
      id: checkText,
      call_id: checkText,
      block_list: (value, path) => checkBlocksAndItems(value, path),
    },
    { status: checkItemStatus, outcome: checkOutcome, content: checkContent },
  ),
  message: looseObjectOf(
    {
      id: checkText,
      role: oneOf("assistant"),
      block_list: arrayOf(variantOf("type", blockChecks)),
    },
    { status: checkItemStatus, content: checkContent },
  ),
};
const checkBlocksAndItems = arrayOf(variantOf("type", { ...blockChecks, ...itemChecks }));

const referenceFields = {
  reference_id: checkNatural,
  item_id: checkText,
  block_indexes: arrayOf(checkNatural),
};
const referenceSourceFields = {
  source: looseObjectOf({ task_id: checkText, reference_id: checkNatural }),
  title: checkText,
  url: checkText,
};
const checkReference = looseObjectOf(referenceFields, referenceSourceFields);
const checkChildReference = looseObjectOf(
  { ...referenceFields, task_id: checkText },
  referenceSourceFields,
);

const checkInput = exactObjectOf(
  {
    item: looseObjectOf({
      type: oneOf("message"),
      id: checkText,
      role: oneOf("user"),
      content: checkContent,
    }),
    delivery: oneOf("steer", "queue"),
  },
  { taken_at: checkNatural },
);

const checkWarnings = arrayOf(
  exactObjectOf({ code: checkText, message: checkText, count: checkNatural }),
);

/** The field `chain` of answers from earlier releases. */
const checkLegacyChain = exactObjectOf(
  {
    calls: arrayOf(
      exactObjectOf(
        {
          call_id: checkText,
          round: checkNatural,
          name: checkText,
          arguments: checkText,
          outcome: checkText,
        },
        {
          task_id: checkText,
          changed_arguments: checkText,
          result: checkText,
          started_at: checkTime,
          duration_ms: checkNonNegative,
          decisions: arrayOf(checkText),
          error: exactObjectOf({ code: checkText, message: checkText }),
          usage: checkUsage,
        },
      ),
    ),
    stats: exactObjectOf({
      rounds: checkNatural,
      calls: checkNatural,
      outcomes: recordOf(checkId, checkNatural),
      model_ms: checkNonNegative,
      tool_ms: checkNonNegative,
      waited_ms: checkNonNegative,
    }),
  },
  { warnings: checkWarnings },
);

const checkOutput = arrayOf(
  variantOf("type", {
    ...itemChecks,
    retracted: looseObjectOf({ id: checkText, reason: checkText }),
  }),
);
const checkExecutions = arrayOf(
  looseObjectOf(
    { call_id: checkText },
    { started_at: checkTime, outcome: checkText, duration_ms: checkNonNegative, error: checkText },
  ),
);
const taskFields = {
  usage: checkUsage,
  tree_usage: checkUsage,
  round: checkNatural,
  executions: checkExecutions,
  inputs: arrayOf(checkInput),
  warnings: checkWarnings,
  model_ms: checkNonNegative,
  waited_ms: checkNonNegative,
};
const checkChildTask = looseObjectOf(
  {
    task_id: checkText,
    info: looseObjectOf({ agent: checkText, depth: checkNatural }, { parent_task_id: checkText }),
    status: oneOf(...taskStatuses),
    output: checkOutput,
    usage: checkUsage,
    round: checkNatural,
    executions: checkExecutions,
    inputs: taskFields.inputs,
  },
  {
    ...taskFields,
    error: looseObjectOf({ code: checkText, message: checkText }),
    ended: looseObjectOf({}, { reason: checkText }),
  },
);
const checkApproval = looseObjectOf(
  {
    approval_id: checkText,
    kind: oneOf("call", "result", "question", "limit", "reconcile"),
    task_id: checkText,
    status: oneOf("pending", "resolved", "expired"),
  },
  {
    call_id: checkText,
    tool: checkText,
    resolution: looseObjectOf({ decision: checkText }, { arguments: checkText, reason: checkText }),
  },
);

const versionFields = { version_id: checkId, created_at: checkTime };

const checkUserVersion: ValueCheck = (value, path) => {
  if (!isPlainObject(value)) return createProblem(path, "must be an object");
  const { version_id: _id, created_at: _time, follows, ...message } = value;
  const lists = { attachments: acceptAny, contexts: acceptAny };
  return [
    ...looseObjectOf({ ...versionFields, ...lists })(value, path),
    ...checkMessage(message, path),
    ...(follows === undefined ? [] : checkId(follows, `${path}.follows`)),
  ];
};

const checkAnswerVersion = exactObjectOf(
  {
    ...versionFields,
    by: oneOf("model", "user"),
    status: oneOf("running", "completed", "aborted", "error", "timeout"),
    model_type: oneOf("chat", "image-gen", "image-edit", "audio-stt", "audio-tts"),
    output: checkOutput,
    references: arrayOf(checkReference),
    notices: arrayOf(checkText),
  },
  {
    agent: checkText,
    model: checkText,
    task_id: checkText,
    waiting: checkBoolean,
    answers: checkId,
    continues: checkId,
    masked_with: checkText,
    child_references: arrayOf(checkChildReference),
    child_tasks: recordOf(checkText, checkChildTask),
    approvals: arrayOf(checkApproval),
    error: exactObjectOf({
      phase: oneOf("model", "tool", "approval"),
      code: checkText,
      message: checkText,
    }),
    ...taskFields,
    time_ms: checkNonNegative,
    chain: checkLegacyChain,
  },
);

const nodeFields = {
  node_id: checkId,
  parent: nullOr(checkId),
  children: arrayOf(checkId),
  created_at: checkTime,
  pinned: checkBoolean,
  hidden: checkBoolean,
  kind: acceptAny,
};

const checkAnyNode = variantOf("kind", {
  user: exactObjectOf({
    ...nodeFields,
    versions: boundedArrayOf(10_000, checkUserVersion),
    version: checkId,
  }),
  answer: exactObjectOf({
    ...nodeFields,
    versions: boundedArrayOf(10_000, checkAnswerVersion),
    version: checkId,
  }),
  separator: exactObjectOf(nodeFields),
});

const checkChat = exactObjectOf(
  {
    chat_id: checkId,
    title: textWithMaxLength(300),
    title_by: oneOf("nobody", "model", "user"),
    created_at: checkTime,
    updated_at: checkTime,
    revision: checkNatural,
    settings: checkSettings,
    tags: checkTags,
    pinned: checkBoolean,
    nodes: recordOf(checkId, checkAnyNode),
    roots: arrayOf(checkId),
    chosen: recordOf((key, path) => (key === "" ? [] : checkId(key, path)), checkId),
    bookmarks: arrayOf(checkId),
  },
  { extra_usage: checkUsage },
);

const checkVariable = exactObjectOf({
  name: checkId,
  call_id: checkText,
  of: checkText,
  tool: checkText,
  length: checkNatural,
  url: checkText,
  created_at: checkTime,
});

const checkHash: ValueCheck = (value, path) =>
  typeof value === "string" && isBlobHash(value)
    ? []
    : createProblem(path, "must be the SHA-256 of a blob, in hex");

/** Checks one node of a chat. */
export const checkNode: ValueCheck = checkAnyNode;

/** Checks the shape of a complete file, but not whether ids and references match. */
export const checkChatFile: ValueCheck = exactObjectOf({
  format: acceptAny,
  version: acceptAny,
  exported_at: checkTime,
  chats: boundedArrayOf(
    100_000,
    exactObjectOf(
      { chat: checkChat, replays: recordOf(checkId, checkReplay) },
      { variables: boundedArrayOf(100_000, checkVariable) },
    ),
  ),
  blobs: recordOf(
    checkHash,
    exactObjectOf({ media_type: textWithMaxLength(200), base64: acceptAny }),
  ),
});
