import { maxMessageCharacters } from "./chat-limits.ts";
import {
  at,
  isFlag,
  isName,
  isJsonObject,
  isPlainObject,
  isText,
  listOf,
  listUpTo,
  numeric,
  oneOf,
  problem,
  shaped,
  words,
  type Check,
} from "./check-value.ts";
import type { PersonEdit } from "./edit.ts";
import { checkSettingsPatch } from "./settings.ts";

/** What is wrong with the values of an edit that a person asks for; whether it can be made is for the chat to say. */
export function checkPersonEdit(value: unknown, path = ""): string[] {
  if (!isPlainObject(value)) return problem(path, "must be an object");
  const { type } = value;
  if (typeof type !== "string" || !Object.hasOwn(personEdits, type))
    return oneOf(...Object.keys(personEdits))(type, at(path, "type"));
  const fields = personEdits[type as PersonEdit["type"]];
  return shaped({ type: isText, ...fields }, Object.keys(fields))(value, path);
}

export function checkMessage(value: unknown, path = ""): string[] {
  return message(value, path);
}

export function checkTitle(value: unknown, path = "title"): string[] {
  return words(mostOfTitle)(value, path);
}

export function checkTags(value: unknown, path = "tags"): string[] {
  const problems = listOf(words(mostOfTag))(value, path);
  if (problems.length > 0 || !Array.isArray(value)) return problems;
  if (value.length > mostTags) return problem(path, `must not be more than ${mostTags}`);
  const twice = value.findIndex((tag, index) => value.indexOf(tag) !== index);
  return twice === -1 ? [] : problem(`${path}[${twice}]`, "is there twice");
}

const mostOfTitle = 300;
const mostOfTag = 100;
const mostTags = 100;
const mostBeside = 1000;

const messageText: Check = (value, path) =>
  typeof value === "string" && value.length > maxMessageCharacters
    ? problem(
        path,
        `must not have more than ${maxMessageCharacters} characters: send the rest as another message or attach it as a file`,
      )
    : isText(value, path);

const message = shaped(
  {
    text: messageText,
    attachments: listUpTo(
      mostBeside,
      shaped(
        {
          kind: oneOf("image", "audio", "file"),
          url: isName,
          filename: isText,
          media_type: isText,
          size: numeric("a number of bytes", (size) => Number.isInteger(size) && size >= 0),
        },
        ["kind", "url"],
      ),
    ),
    contexts: listUpTo(
      mostBeside,
      shaped(
        {
          kind: oneOf("file", "selection", "page", "text"),
          title: isText,
          text: messageText,
          url: isText,
        },
        ["kind", "title", "text"],
      ),
    ),
    options: isJsonObject,
  },
  ["text"],
);

const ofNode = { node_id: isName };
const ofVersion = { node_id: isName, version_id: isName };
const marks = { node_id: isName, value: isFlag };

const personEdits: Readonly<Record<PersonEdit["type"], Readonly<Record<string, Check>>>> = {
  rename: { title: checkTitle },
  tag: { tags: checkTags },
  pin_chat: { value: isFlag },
  settings: { patch: checkSettingsPatch },
  choose_branch: ofNode,
  choose_version: ofVersion,
  pin: marks,
  hide: marks,
  bookmark: marks,
  add_separator: { after: isName },
  delete_node: { ...ofNode, children: oneOf("delete", "keep") },
  delete_version: ofVersion,
};
