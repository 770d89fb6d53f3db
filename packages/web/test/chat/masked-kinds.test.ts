import { expect, test } from "vitest";
import { listMaskedKinds } from "../../src/chat/composer-bar.tsx";

const fields = [
  { kind: "email" },
  { kind: "name", value: "Ann" },
  { kind: "name", value: "Bo" },
] as const;

test("the listed kinds of masked values are those of the chat's settings, or else of the gateway's defaults", () => {
  expect(listMaskedKinds({ privacy: { enabled: true, fields } }, {})).toEqual(["email", "name"]);
  const defaults = { privacy: { enabled: true, fields: [{ kind: "key" }] } } as const;
  expect(listMaskedKinds({}, defaults)).toEqual(["key"]);
  expect(listMaskedKinds({ privacy: { enabled: false, fields } }, defaults)).toEqual([]);
  expect(listMaskedKinds({}, {})).toEqual([]);
});
