export type Language = "en" | "zh";

export const languages: readonly { readonly language: Language; readonly name: string }[] = [
  { language: "en", name: "English" },
  { language: "zh", name: "中文" },
];

type Phrase = string | ((...values: never[]) => string);

export type WordSet<Words> = Readonly<Record<Language, Words>>;

/** What a part of the page says, in every language that it speaks: a phrase that is missing in one does not compile. */
export function defineWords<Words extends Record<string, Phrase>>(sets: {
  en: Words;
  zh: NoInfer<Words>;
}): WordSet<Words> {
  return sets;
}

/** Of those that a browser lists, the first that the page speaks. */
export function languageOf(preferred: readonly string[]): Language {
  for (const tag of preferred) {
    const [primary] = tag.toLowerCase().split("-");
    if (primary === "zh" || primary === "en") return primary;
  }
  return "en";
}
