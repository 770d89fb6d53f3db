import { readdirSync, readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { gatewayErrorMessages } from "../../src/text/gateway-error-translations.ts";

const directory = new URL("../../../tasks/src/chats/", import.meta.url);

/** Matches calls with a literal message. Other calls pass on problems with a path, which are not translated. */
const rejectionPattern =
  /\breject(?:Edit\(\s*"\w+",|Restore\()\s*(?:"(?<text>[^"]+)"|`(?<template>[^`]+)`),?\s*\)/g;

/** Returns the messages of all rejected edits, with a value in place of each `${…}`. */
function listRejections(): string[] {
  const sources = readdirSync(directory).filter((name) => name.endsWith(".ts"));
  return sources.flatMap((name) =>
    [...readFileSync(new URL(name, directory), "utf8").matchAll(rejectionPattern)].flatMap(
      ({ groups }) => groups?.["text"] ?? fillTemplate(groups?.["template"] ?? ""),
    ),
  );
}

function fillTemplate(template: string): string {
  return template
    .replace("${quoteId(id)}", '"node_1"')
    .replace("${maxMessages}", "10000")
    .replace("${describeKind(parentNode)}", "a separator");
}

test("every rejection of an edit is translated", () => {
  const rejections = listRejections();
  expect(rejections.length).toBeGreaterThan(20);
  const { formatError } = gatewayErrorMessages.zh;
  expect(rejections.filter((message) => !/\p{Script=Han}/u.test(formatError(message)))).toEqual([]);
});
