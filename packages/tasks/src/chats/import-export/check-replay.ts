import {
  isPlainObject,
  checkText,
  arrayOf,
  nullOr,
  createProblem,
  type ValueCheck,
} from "../value-checks.ts";
import { looseObjectOf, variantOf } from "./file-checks.ts";

/*
 * Checks the items that replay an answer to a model: only the kinds of Responses items that answers consist of. Others, such as
 * a system message, would reach the model without being visible to the user, or make its server reject all later requests.
 */

const checkAnswerPart = variantOf("type", {
  output_text: looseObjectOf(
    { text: checkText },
    { annotations: nullOr(arrayOf(looseObjectOf({}))) },
  ),
  refusal: looseObjectOf({ refusal: checkText }),
});

const checkAudioInput: ValueCheck = (value, path) =>
  isPlainObject(value) && "url" in value
    ? looseObjectOf({ url: checkText })(value, path)
    : looseObjectOf({ data: checkText, format: checkText })(value, path);

const checkFileInput: ValueCheck = (value, path) => {
  const problems = looseObjectOf(
    {},
    { file_url: checkText, file_data: checkText, filename: checkText },
  )(value, path);
  const hasContent = isPlainObject(value) && ("file_url" in value || "file_data" in value);
  return hasContent
    ? problems
    : [...problems, ...createProblem(path, "must have a file_url or file_data")];
};

const checkUserPart = variantOf("type", {
  input_text: looseObjectOf({ text: checkText }),
  input_image: looseObjectOf({ image_url: checkText }, { detail: nullOr(checkText) }),
  input_audio: looseObjectOf({ input_audio: checkAudioInput }),
  input_file: checkFileInput,
});

function textOrPartsOf(part: ValueCheck): ValueCheck {
  return (value, path) => {
    if (typeof value === "string") return checkText(value, path);
    return Array.isArray(value)
      ? arrayOf(part)(value, path)
      : createProblem(path, "must be a string or a list of parts");
  };
}

const itemFields = { id: nullOr(checkText), status: nullOr(checkText) };
const checkReasoningTexts = nullOr(arrayOf(looseObjectOf({ text: checkText })));

const checkReplayItem = variantOf("type", {
  message: variantOf("role", {
    assistant: looseObjectOf({ content: textOrPartsOf(checkAnswerPart) }, itemFields),
    user: looseObjectOf({ content: textOrPartsOf(checkUserPart) }, itemFields),
  }),
  function_call: looseObjectOf(
    { call_id: checkText, name: checkText, arguments: checkText },
    itemFields,
  ),
  function_call_output: looseObjectOf(
    { call_id: checkText, output: textOrPartsOf(checkUserPart) },
    itemFields,
  ),
  reasoning: looseObjectOf(
    {},
    {
      ...itemFields,
      summary: checkReasoningTexts,
      content: checkReasoningTexts,
      encrypted_content: nullOr(checkText),
    },
  ),
});

export const checkReplay: ValueCheck = (value, path) => {
  const problems = arrayOf(checkReplayItem)(value, path);
  return problems.length > 0 ? problems : checkCalls(value as readonly ReplayCall[], path);
};

interface ReplayCall {
  readonly type: string;
  readonly call_id: string;
}

/** Every call must have exactly one output after it. */
function checkCalls(items: readonly ReplayCall[], path: string): string[] {
  const openCalls = new Map<string, string>();
  const usedIds = new Set<string>();
  const problems = items.flatMap(({ type, call_id }, index) => {
    const callPath = `${path}[${index}].call_id`;
    if (type === "function_call") {
      if (usedIds.has(call_id)) return createProblem(callPath, "is a duplicate call id");
      usedIds.add(call_id);
      openCalls.set(call_id, callPath);
    }
    if (type === "function_call_output" && !openCalls.delete(call_id))
      return createProblem(callPath, "has no preceding function_call");
    return [];
  });
  for (const callPath of openCalls.values())
    problems.push(...createProblem(callPath, "has no output"));
  return problems;
}
