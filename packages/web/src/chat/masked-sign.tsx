import type { PrivacyKind } from "@deltawire/tasks/chats";
import { IconButton } from "../parts/button.tsx";
import { Icon } from "../parts/icon.tsx";
import { useWords } from "../words/use-words.ts";
import { composerWords } from "./composer-words.ts";
import { privacyKindWords } from "./settings-words.ts";

interface MaskedSignProps {
  kinds: readonly PrivacyKind[];
  /** Undefined: there is no chat yet whose settings could be opened. */
  onOpen: (() => void) | undefined;
}

/** As many as are named: the settings have them all. */
const named = 2;

/** That something is masked, and what. */
export function MaskedSign({ kinds, onOpen }: MaskedSignProps) {
  const words = useWords(composerWords);
  const kindWords = useWords(privacyKindWords);
  if (kinds.length === 0) return null;
  const names = kinds.slice(0, named).map((kind) => kindWords[kind]);
  const others = kinds.length - names.length;
  const label = words.masked(
    [...names, ...(others === 0 ? [] : [words.andMore(others)])].join(words.comma),
  );
  if (onOpen !== undefined)
    return <IconButton icon="shield" label={label} className="chat-masked" onClick={onOpen} />;
  return (
    <span className="chat-masked" role="img" aria-label={label} title={label}>
      <Icon name="shield" />
    </span>
  );
}
