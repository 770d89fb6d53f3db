import { isPlainObject, isText, listOf, orNull, problem, type Check } from "../check-value.ts";
import { atLeast, tagged } from "./check-json.ts";

/*
 * What a model is told of an answer: items of the Responses wire, of the kinds that answers are made of. Others would reach
 * the model unseen, as a message of the system would, or make its server refuse all that is said later.
 */

const ofAnswer = tagged("type", {
  output_text: atLeast({ text: isText }, { annotations: orNull(listOf(atLeast({}))) }),
  refusal: atLeast({ refusal: isText }),
});

const sound: Check = (value, path) =>
  isPlainObject(value) && "url" in value
    ? atLeast({ url: isText })(value, path)
    : atLeast({ data: isText, format: isText })(value, path);

const file: Check = (value, path) => {
  const problems = atLeast({}, { file_url: isText, file_data: isText, filename: isText })(
    value,
    path,
  );
  const isThere = isPlainObject(value) && ("file_url" in value || "file_data" in value);
  return isThere ? problems : [...problems, ...problem(path, "must have a file_url or file_data")];
};

const ofUser = tagged("type", {
  input_text: atLeast({ text: isText }),
  input_image: atLeast({ image_url: isText }, { detail: orNull(isText) }),
  input_audio: atLeast({ input_audio: sound }),
  input_file: file,
});

function textOr(part: Check): Check {
  return (value, path) => {
    if (typeof value === "string") return isText(value, path);
    return Array.isArray(value)
      ? listOf(part)(value, path)
      : problem(path, "must be a text or a list of parts");
  };
}

const ofItem = { id: orNull(isText), status: orNull(isText) };
const thoughts = orNull(listOf(atLeast({ text: isText })));

const item = tagged("type", {
  message: tagged("role", {
    assistant: atLeast({ content: textOr(ofAnswer) }, ofItem),
    user: atLeast({ content: textOr(ofUser) }, ofItem),
  }),
  function_call: atLeast({ call_id: isText, name: isText, arguments: isText }, ofItem),
  function_call_output: atLeast({ call_id: isText, output: textOr(ofUser) }, ofItem),
  reasoning: atLeast(
    {},
    { ...ofItem, summary: thoughts, content: thoughts, encrypted_content: orNull(isText) },
  ),
});

export const checkReplay: Check = (value, path) => {
  const problems = listOf(item)(value, path);
  return problems.length > 0 ? problems : checkCalls(value as readonly Item[], path);
};

interface Item {
  readonly type: string;
  readonly call_id: string;
}

/** Every call has one output, behind it. */
function checkCalls(items: readonly Item[], path: string): string[] {
  const open = new Map<string, string>();
  const used = new Set<string>();
  const problems = items.flatMap(({ type, call_id }, index) => {
    const place = `${path}[${index}].call_id`;
    if (type === "function_call") {
      if (used.has(call_id)) return problem(place, "is that of another call");
      used.add(call_id);
      open.set(call_id, place);
    }
    if (type === "function_call_output" && !open.delete(call_id))
      return problem(place, "there is no call before it that this is the output of");
    return [];
  });
  for (const place of open.values()) problems.push(...problem(place, "has no output"));
  return problems;
}
