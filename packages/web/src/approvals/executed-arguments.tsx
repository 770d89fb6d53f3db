import { useState } from "react";
import type { ExpandedArguments } from "@deltawire/tasks";
import type { PendingApproval } from "@deltawire/tasks/chats";
import { LongText } from "../blocks/long-text.tsx";
import { usePage } from "../hooks/use-page.ts";
import { Button } from "../parts/button.tsx";
import { readableArguments } from "../texts/readable-arguments.ts";
import { revealed } from "../texts/revealed.ts";
import type { ApprovalWords } from "./words.ts";

interface ExecutedArgumentsProps {
  pending: PendingApproval;
  words: ApprovalWords;
}

/** The arguments that would run, or that ran before a crash, with the content of variables in them. */
export function ExecutedArguments({ pending: { approval, call }, words }: ExecutedArgumentsProps) {
  const { expanded_arguments: expanded, kind } = approval;
  const note = kind === "reconcile" ? words.asItRan : words.variablesFilledIn;
  if (expanded !== undefined && !("text" in expanded))
    return <LongArguments expanded={expanded} note={note} words={words} />;
  const text = readableArguments(expanded?.text ?? call?.arguments ?? "");
  return (
    <>
      {expanded !== undefined && <p className="approvals-quiet">{note}</p>}
      <LongText text={text || words.noArguments} mono label={words.arguments} />
    </>
  );
}

interface LongArgumentsProps {
  expanded: Exclude<ExpandedArguments, { text: string }>;
  note: string;
  words: ApprovalWords;
}

function LongArguments({ expanded: { head, tail, length, url }, note, words }: LongArgumentsProps) {
  const page = usePage();
  const [complete, setComplete] = useState<string>();
  const [isReading, setReading] = useState(false);
  const read = async () => {
    setReading(true);
    const text = await page.attempt(async () => {
      const reply = await page.ask(url);
      if (!reply.ok) throw new Error(words.argumentsNotRead(reply.status));
      return reply.text();
    });
    setReading(false);
    if (text !== undefined) setComplete(readableArguments(text));
  };
  const left = length - head.length - tail.length;
  const excerpt = `${revealed(head)}\n\n[… ${words.leftOut(left)} …]\n\n${revealed(tail)}`;
  return (
    <>
      <p className="approvals-quiet">
        {note} {words.lengthOfArguments(length)}
      </p>
      <LongText text={complete ?? excerpt} mono label={words.arguments} />
      {complete === undefined && (
        <div className="approvals-choices">
          <Button busy={isReading} onClick={() => void read()}>
            {words.readAll}
          </Button>
        </div>
      )}
    </>
  );
}
