"""Replies without an answer: refusals, "not available", and error texts stored in place of a reply."""

from __future__ import annotations

import re

__all__ = ["error_reason", "refusal_reason"]

_ERROR = re.compile(
    r"""\s*(?:
        (?:error|exception|traceback)\b(?:\scode)?\s{0,3}[:(\[]
        |\[?(?:http|api|server|request|connection|timeout|rate\s?limit)[\s_-]{0,2}(?:error|exceeded|timed\sout)\b
        |http/?\s?(?:1\.[01]|2)?\s?[45]\d\d\b
        |[45]\d\d\s(?:too\smany|internal\sserver|bad\sgateway|service\sunavail|gateway\stime|unauthori[sz]ed|forbidden|bad\srequest|not\sfound|client\serror|server\serror)
        |(?:internal\sserver\serror|bad\sgateway|service\sunavailable|gateway\stime-?out|too\smany\srequests)\b
        |<!doctype\shtml|<html
        |\{\s{0,9}["']error["']\s{0,3}:
        |\w{0,40}(?:connectionpool|connecterror|timeouterror|apierror|ratelimiterror|httperror)\b
        |traceback\s\(most\srecent
    )""",
    re.IGNORECASE | re.VERBOSE,
)


def error_reason(text: str) -> str:
    """Why this is a transport error's text and not a model's reply; "" if it is not."""
    if not _ERROR.match(text):
        return ""
    line = " ".join(text[:300].split())
    return f"an error text in place of a reply: {line[:80]}"


_REFUSAL = re.compile(
    r"""\b(?:
        (?:can(?:no|['’]?)t|can\snot|could\s?n['’o]?t|cannot|unable\sto|won['’]t|will\snot|not\sable\sto|am\snot\sable|not\spossible\sto
            |impossible\sto|do\snot|don['’]t|not\scomfortable|decline\sto|refuse\sto|must\sdecline)
        \s(?:\w{1,20}\s){0,4}?
        (?:determin|identif|pinpoint|locat|geolocat|verif|confirm|judg|provid|give|tell|assist|help|answer|comply|guess|estimat|infer|say|disclos|share|reveal|make|know|be\s)
        |not\s(?:possible|feasible)\b
        |(?:cannot|can't|could\snot)\sbe\s(?:determined|identified|pinpointed|located)
        |i['’]?m\s(?:really\s)?sorry|i\sapologi[sz]e
        |against\s(?:my|our|the)\s\w{0,20}\s?(?:guidelines|polic)
        |as\san\sai\b
        |no\simagery\shere|sorry,?\swe\shave\sno\simagery
        |不能|无法|抱歉
    )""",
    re.IGNORECASE | re.VERBOSE,
)
_BLANK_FIELD = re.compile(
    r"""(?:lat(?:itude)?|lo?ng?(?:itude)?|coordinates?|location)["']?\s{0,3}[:=]\s{0,3}["']?\s{0,3}
    (?:null|none|nan|n/a|n\.a\.|not\s\w{1,20}|unknown|undetermined|unavailable|unspecified|[-?]{1,3}(?![\d.])|["'])""",
    re.IGNORECASE | re.VERBOSE,
)
_BARE_NOTHING = re.compile(
    r"[\s\"'{}.\[\]()]*(?:null|none|n/a|unknown|undetermined"
    r"|not (?:available|applicable|visible|specified|sure|known|determined))[\s\"'{}.!\[\]()]*",
    re.IGNORECASE,
)


def refusal_reason(text: str) -> str:
    """Why a reply without coordinates is a refusal; "" if it only lacks them."""
    if _BARE_NOTHING.fullmatch(text) or _BLANK_FIELD.search(text):
        return "the position is given as unknown"
    match = _REFUSAL.search(text)
    return f"declined: {' '.join(match[0].split())!r}" if match else ""
