"""Words that name nothing in particular, and words of everyday talk that name no topic, in English and Chinese."""

from __future__ import annotations

from functools import lru_cache

from ..lazy_regex import lazy_regex
from .normalise import STOP_WORDS, normalise_name, tokens
from .times import has_time_words

__all__ = ["CHINESE_TALK", "LONGEST_NAME", "VAGUE", "is_name", "is_talk"]

LONGEST_NAME = 60
_VAGUE_WORDS = """
thing things stuff lot lots bit way ways time times one ones people person someone everyone anyone something anything
everything nothing idea ideas fun day days moment moments feeling feelings chance part kind sort point place places
reason reasons problem problems question questions fact side end rest today tomorrow yesterday tonight week weekend
month year years morning afternoon evening night while hello hi hey thanks thank wow yeah yes no ok okay please sorry
sure great good nice cool awesome amazing fan it that this these those them him her us me you everybody nobody here
there home work half few couple little much many more other others same mine yours his hers theirs ours lol haha
blast break look go try ton tons plan plans well step steps care love luck bunch hour hours minute minutes
东西 时候 问题 事情 事 大家 人 人们 别人 自己 我们 你们 他们 她们 它们 咱们 什么 怎么 这个 那个 这里 那里 这儿 那儿 哪里 哪儿 地方 样子
时间 今天 明天 昨天 现在 以前 以后 最近 刚才 一下 一点 有点 一些 一样 这样 那样 这么 那么 真的 感觉 意思 方面 情况 原因 结果 办法
哈哈 哈哈哈 呵呵 嗯嗯 好的 谢谢 不好意思 对不起 没事 不用 可以 知道 觉得 的话 家人们 朋友们 各位 同学们 有人 没人 有的 家里 这边 那边
上面 下面 里面 外面 旁边 附近 前面 后面 天天 每天 全部 所有 其他 其它 一个 两个 几个 多少 好几 半天 一会 一会儿 下次 上次 这次
礼拜 星期 馆里 店里 班里 群里 公司里 师傅 阿姨 叔叔 大哥 大爷 大姐 小姐姐 小哥哥 老板 老师 同学 汇报 和平 沙发 大佬 有事 上台 朝南 看人 题目 名字 事儿 消息 感情 心情 身体
"""
VAGUE = frozenset(_VAGUE_WORDS.split())
"""They stand for something, or fill a place in talk."""
_LETTER = lazy_regex(r"[^\W\d_]")


def is_name(text: str) -> bool:
    """Whether a thing could be called so: no pronoun, stop-word, number, time or whole sentence."""
    norm = normalise_name(text)
    if not 1 < len(norm) <= LONGEST_NAME or norm in VAGUE or norm in STOP_WORDS or not _LETTER.search(norm):
        return False
    return not (has_time_words(text) and len(norm) <= 12 and not text[:1].isupper())


_ENGLISH_TALK = """
yeah yep yup nope okay really great thanks thank good nice know like think going got get one two three time well also see
lot sure wow hey let want make much way back right haha hahaha lol lmao omg btw imo tbh hmm huh ooh aww yay cool awesome
amazing wonderful lovely super fun bad new old big small long short little bit first last next best better worse same
different able about actually absolutely definitely totally probably maybe perhaps exactly especially finally recently
lately today tomorrow yesterday tonight now then soon later early late always never often sometimes usually ever still
already almost even again away around together else anyway though although since because instead however too very pretty
quite bit enough thing things something anything nothing everything stuff someone anyone everyone people guy guys
day days week weeks month months year years hour hours minute morning afternoon evening night moment while
here there everywhere somewhere please sorry hello welcome bye congrats dear sir madam
life lives say said tell talk speak ask answer call live base come go give take put bring keep leave stay move turn look watch hear
listen feel seem become happen start begin stop end finish try use need help find lose hold send show meet follow change
mean understand believe hope wish wonder guess suppose remember forget decide agree wait sound love hate enjoy prefer care
miss worry matter check pick set add buy pay spend sell happy glad excited sad tired busy hard easy ready free sweet
interesting important special favorite true real whole own main kind sort type part reason idea way point fact case
name number example side share imagine appreciate stand sit eat drink sleep wake wear open close break fall catch throw
cut carry build grow pull push spot reach deal consider include provide continue remain appear allow expect suggest
manage realize learn teach read write won win inspire support encourage check chat message
"""
_STEMS = frozenset(tokens(_ENGLISH_TALK))
_NAMES_WITH_MARK = ("o'", "d'", "l'")

_CHINESE_TALK = """
觉得 知道 喜欢 讨厌 可以 应该 没有 看到 感觉 时候 东西 事情 问题 人家 意思 谢谢 哈哈 哈哈哈
时间 地方 开始 出来 起来 过来 过去 进去 回来 回去 准备 打算 需要 希望 以为 认为 告诉 发现 想要
不要 不会 不能 不是 就是 还是 一下 可能 有点 有人 有没有 是不是 能不能 知不知道 怎么样 为什么
好像 据说 听说 看看 试试 想想 说说 问问 等等 看来 来说 说话 记得 忘记 忘了 相信 建议 帮忙 麻烦
不好意思 没事 没关系 不用 不行 不错 起床 睡觉 变成 成为 属于 包括 进行 使用 利用 通过 进来 下来
上来 下去 上去 结果 样子 方面 情况 部分 样儿 东东 家伙 朋友 人们 个人 先生 女士 上次 下次 有时
有时候 那种 这种 关系 原因 办法 办法儿 机会 想法 看法 话题 今天 明天 昨天 晚上 早上 下午 上午
中午 周末 最近 现在 以后 以前 刚才 后来 晚安 早安 收到 好吃 不到 放回 拿到 提醒 受不了
"""
CHINESE_TALK = frozenset(_CHINESE_TALK.split())


@lru_cache(20_000)
def is_talk(word: str) -> bool:
    """Whether an English word, in lower case, is one that people use whatever they talk about; short forms are."""
    if word in STOP_WORDS or ("'" in word and not word.startswith(_NAMES_WITH_MARK)):
        return True
    stems = tokens(word)
    return not stems or all(stem in _STEMS for stem in stems)
