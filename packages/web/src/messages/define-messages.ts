export type Language = "en" | "zh";

export const languages: readonly { readonly language: Language; readonly name: string }[] = [
  { language: "en", name: "English" },
  { language: "zh", name: "中文" },
];

type MessageValue = string | ((...values: never[]) => string);

export type LocalizedMessages<Messages> = Readonly<Record<Language, Messages>>;

/** Defines the messages of one part of the page in every language. A missing translation is a type error. */
export function defineMessages<Messages extends Record<string, MessageValue>>(messages: {
  en: Messages;
  zh: NoInfer<Messages>;
}): LocalizedMessages<Messages> {
  return messages;
}

/** Returns the first preferred language that the page supports, else English. */
export function pickLanguage(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const [primary] = tag.toLowerCase().split("-");
    if (primary === "zh" || primary === "en") return primary;
  }
  return "en";
}
