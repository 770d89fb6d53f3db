import { placeholderOf } from "./placeholder.ts";
import type { Vault } from "./vault.ts";

/** Tells a model what placeholders are. The same for as long as the fields are, for the sake of the prompt cache. */
export function privacyRule(vault: Vault): string {
  const [label = "NAME"] = vault.labels;
  const example = placeholderOf(label, 0, vault.tag);
  return `<PRIVACY_RULE>
Private values in this conversation are replaced by placeholders of the form ${example}: two braces, what it is, a number, the code ${vault.tag}, two braces. The same placeholder always stands for the same value; two placeholders may be two spellings of one value.
- Use a placeholder wherever you would use the value, in answers and in the arguments of tools. The user and the tools get the value in its place.
- Copy it exactly, braces and code included. Do not translate, shorten, split, decorate or number it yourself, and do not make up new ones.
- Do not guess the value, and do not ask for it or remark that it is hidden.
- If a task needs something of the value that you cannot see, such as its length or its last digits, say so.
</PRIVACY_RULE>`;
}
