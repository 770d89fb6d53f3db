import { Vault, Redactor, redactError } from "@deltawire/agent";
import { cleanTitle } from "../src/chats/title.ts";
import {
  replaceWritten,
  unfinishedFrom,
  unfinishedWordFrom,
  withoutHalfPlaceholder,
} from "../src/privacy/placeholder.ts";
import { StreamUnmasker } from "../src/privacy/unmask-stream.ts";
import { pieces, testTextCosts } from "../../../test/text-costs.ts";

/* Functions that read text of providers, models and tools. */

const secrets = ["key-of-up-0123456789", "%25%7B\\\"'<&>-\\\\\\\\\\", "aaaaaaaaaaaaaaaaaaab"];

const redactor = new Redactor(secrets);

const vault = () =>
  new Vault({
    fields: ["email", "phone", "card", "key", "password", "id"].map((kind) => ({ kind })) as never,
    known: [{ placeholder: "{{EMAIL_1_x7f3}}", value: "a@example.com", kind: "email" }] as never,
    tag: "x7f3",
  });

testTextCosts({
  "Redactor.redact": (text) => redactor.redact(text),
  "Redactor.excerpt": (text) => redactor.excerpt(text, 500),
  "Redactor.redactData": (text) => redactor.redactData(text),
  "Redactor.stream, in pieces": (text) => readRedacted(pieces(text)),
  redactError: (text) => redactError({ message: text, [text]: text }, redactor),
  "Vault.mask": (text) => vault().mask(text),
  "Vault.maskJson": (text) => vault().maskJson(JSON.stringify({ a: text, [text]: 1 })),
  "Vault.unmask": (text) => vault().unmask(text),
  "Vault.unmaskJson": (text) => vault().unmaskJson(JSON.stringify({ a: text })),
  "Vault.isPrivate": (text) => vault().isPrivate(text),
  "Vault.cutBefore": (text) => vault().cutBefore(text, text.length >> 1),
  "StreamUnmasker, in pieces": (text) => readUnmasked(pieces(text)),
  "placeholders that models write": (text) => [
    replaceWritten(text, () => undefined, String),
    withoutHalfPlaceholder(text),
    unfinishedFrom(text),
    unfinishedWordFrom(text, text.length, true),
  ],
  cleanTitle: (text) => cleanTitle(text),
});

function readRedacted(deltas: readonly string[]): void {
  const stream = redactor.stream();
  for (const delta of deltas) stream.push(Buffer.from(delta));
  stream.end();
}

function readUnmasked(deltas: readonly string[]): void {
  const values = vault();
  for (const isJson of [false, true]) {
    const unmasker = new StreamUnmasker((text, before) => values.unmask(text, before), { isJson });
    for (const delta of deltas) unmasker.push(delta);
    unmasker.end();
  }
}
