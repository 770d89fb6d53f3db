import { useMemo } from "react";
import type { ChatChoices } from "@deltawire/tasks/chats";
import { useCommands } from "../hooks/use-commands.ts";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import { choicesToPick, type Who } from "./who-answers.ts";

interface AnswererCommandsProps {
  choices: ChatChoices;
  onChoose: (who: Who) => void;
}

/** More than a palette has room for, beside everything else in it. */
const many = 6;

/** All that can answer, for the palette. */
export function AnswererCommands({ choices, onChoose }: AnswererCommandsProps) {
  const words = useWords(composerWords);
  const offered = useMemo(
    () => choicesToPick(choices).filter(({ group }) => group !== "default"),
    [choices],
  );
  useCommands(
    offered.map(({ id, name, description, who }) => ({
      id: `answer with ${id}`,
      title: words.answerWith(name),
      group: words.group,
      words: description,
      onlyFound: offered.length > many,
      run: () => onChoose(who),
    })),
  );
  return null;
}
